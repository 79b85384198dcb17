"""The Cluster as columns, its Views, rows and worlds. Facts only: no plugin, no policy, no clock."""
