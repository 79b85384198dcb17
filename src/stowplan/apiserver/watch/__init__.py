"""Who is told of changes, in which form, and what happens to those who do not listen."""
