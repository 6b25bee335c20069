"""Readers of foreign formats, one module each; nothing outside this package knows such a format."""
