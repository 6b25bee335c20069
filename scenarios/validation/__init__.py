"""Published measurements against predictions: one module an experiment."""
