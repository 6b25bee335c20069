"""Readers of foreign formats, one module each; nothing outside this package knows such a format."""

from tiersim.traces.readers.detect import detect_format, sort_files
from tiersim.traces.readers.importing import import_files, import_trace

__all__ = ["detect_format", "import_files", "import_trace", "sort_files"]
