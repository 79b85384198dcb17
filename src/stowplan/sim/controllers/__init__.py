"""The controllers of `stowplan up`, one per file: each reads local copies, compares, writes the difference."""
