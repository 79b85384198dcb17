"""The plugin contract and the runner that calls plugins in order. No plugin lives here."""
