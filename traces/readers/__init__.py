"""Readers of foreign formats, one module each; nothing outside this package knows such a format."""

from tiersim.traces.readers.detect import detect_format, import_trace
from tiersim.traces.readers.load_generators import measurements

__all__ = ["detect_format", "import_trace", "measurements"]
