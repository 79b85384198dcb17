"""The versioned store: objects as encoded JSON, one resource version for all, a window of history, SQLite beneath."""
