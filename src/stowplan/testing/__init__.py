"""The public test kit: builders, fakes and runners for people who write plugins."""
