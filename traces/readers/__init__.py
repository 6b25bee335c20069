"""Readers of foreign formats, one module each; nothing outside this package knows such a format."""

from tiersim.traces.readers.detect import import_trace

__all__ = ["import_trace"]
