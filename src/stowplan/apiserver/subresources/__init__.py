"""The addresses below an object that do more than read and write a part of it."""
