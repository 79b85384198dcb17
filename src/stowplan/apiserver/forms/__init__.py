"""The shapes in which an object can be asked for: whole, its metadata alone, or a row of a table."""
