"""InterPodAffinity: which pods a pod wants near or far; nothing else belongs here."""
