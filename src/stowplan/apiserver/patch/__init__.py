"""The ways to change an object by parts: JSON patch, merge patch, strategic merge patch, server-side apply."""
