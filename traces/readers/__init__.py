"""Readers of foreign formats, one module each; nothing outside this package knows such a format."""

from tiersim.traces.readers.importing import detect_format, import_files, import_trace, sort_files

__all__ = ["detect_format", "import_files", "import_trace", "sort_files"]
