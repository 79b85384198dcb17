"""KubeSchedulerConfiguration v1 to profiles: strict decoding, defaults, validation; plugins are a catalog to it."""
