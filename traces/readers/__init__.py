"""Readers of foreign formats, one module each; nothing outside this package knows such a format."""

from tiersim.traces.readers.detect import detect_format, holds_requests, import_trace

__all__ = ["detect_format", "holds_requests", "import_trace"]
