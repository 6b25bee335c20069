"""Readers of foreign formats, one module each; nothing outside this package knows such a format."""

from tiersim.traces.readers.detect import detect_format, import_trace

__all__ = ["detect_format", "import_trace"]
