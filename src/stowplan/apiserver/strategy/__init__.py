"""What is special about creating and changing objects of one kind; table.py says who cares for which."""
