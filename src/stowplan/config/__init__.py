"""KubeSchedulerConfiguration v1 to profiles: strict decoding, defaults, validation. It names plugins only through a registry."""
