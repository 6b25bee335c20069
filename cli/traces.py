"""Opens what a user calls a trace: a bundle as it is, anything else through an import into a temporary bundle."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tiersim.cli import terminal
from tiersim.errors import TraceError

if TYPE_CHECKING:
    from tiersim.traces.bundle import Bundle


@contextmanager
def open_trace(path: Path) -> "Iterator[Bundle]":
    """Yield the bundle at *path*, or one that is imported from the file there and forgotten afterwards."""
    from tiersim.traces.bundle import Bundle
    from tiersim.traces.readers import import_trace

    if path.is_dir() and (path / "requests.parquet").exists():
        yield Bundle(path)
        return
    if not path.exists() and not list(path.parent.glob(f"{path.name}.blktrace.*")):
        raise TraceError(f"{path}: is not there; give a trace bundle or a file to import")
    with tempfile.TemporaryDirectory(prefix="tiersim-") as folder:
        target = Path(folder) / f"{path.name}.trace"
        with terminal.progress_bar(f"importing {path.name}", 1) as _:
            import_trace([path], target, format=None, force=False)
        yield Bundle(target)
