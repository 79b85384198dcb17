"""Talking to an API server: transport, informers, writer, events, leader election. No scheduling knowledge."""
