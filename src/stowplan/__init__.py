"""Stowplan: a Kubernetes scheduler in Python that explains every decision."""

__version__ = "0.1.0"
