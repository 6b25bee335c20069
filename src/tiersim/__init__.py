"""Predict what a database would do on storage that has not been bought yet."""

__version__ = "0.1.0"
