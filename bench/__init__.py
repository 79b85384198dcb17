"""Benchmarks: workloads as data, one runner."""
