"""Custom kinds: their definitions, and the checks of their instances."""
