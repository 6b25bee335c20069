"""The fast engine: one event loop over arrays."""
