"""One file per command: arguments in, text out. No logic."""
