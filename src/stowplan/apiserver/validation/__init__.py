"""What is refused although it has the right types; a file per family of kinds, a table of all in table.py."""
