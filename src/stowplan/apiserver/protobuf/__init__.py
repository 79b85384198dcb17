"""Reads objects in the binary form that Go clients write by default. Answers are JSON: every client reads it."""
