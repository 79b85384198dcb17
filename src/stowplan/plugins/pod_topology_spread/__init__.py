"""PodTopologySpread: how evenly pods lie over the domains of a topology key; nothing else belongs here."""
