"""What the server fills in where an object says nothing; a file per family of kinds, a table of all in table.py."""
