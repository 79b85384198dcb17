"""Pages over traces and state. Reads, never writes."""
