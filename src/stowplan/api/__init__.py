"""Kubernetes objects as the scheduler reads them: frozen records, quantities, selectors, codec. No state."""
