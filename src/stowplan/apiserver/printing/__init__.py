"""The columns that kubectl shows, a file per family of kinds, a table of all in table.py."""
