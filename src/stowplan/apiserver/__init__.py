"""The embedded Kubernetes API server: store, watch, routes, defaulting, tables. No scheduling knowledge."""
