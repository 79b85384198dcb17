"""Kubernetes objects as the scheduler reads them: frozen records, quantities, selectors, the codec. No state, no decisions."""
