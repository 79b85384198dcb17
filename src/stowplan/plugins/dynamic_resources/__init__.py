"""DynamicResources: gives devices to the claims of pods, from selectors to allocations; nothing else belongs here."""
