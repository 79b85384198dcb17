"""Label and field selectors as they come in query strings. No objects' content here, only what an Entry indexes."""
