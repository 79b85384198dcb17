"""NodeVolumeLimits: counts the volumes that CSI drivers attach to nodes. Nothing here binds volumes."""
