"""VolumeBinding: finds volumes for claims and binds them. Limits and zones are other plugins."""
