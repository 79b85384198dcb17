"""NodeResourcesFit: does the node have room for the pod, and how full would it be. Nothing else."""
