"""Opens what a user calls a trace: a bundle as it is, anything else through an import into a temporary bundle."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tiersim.cli import terminal
from tiersim.cli.warmup import compile_if_cold
from tiersim.errors import ScenarioError, TraceError

if TYPE_CHECKING:
    from tiersim.traces.bundle import Bundle


@contextmanager
def open_trace(path: Path) -> "Iterator[Bundle]":
    """Yield the bundle at *path*, or one that is imported from the file there and forgotten afterwards.

    What is known to be wrong with the recording is said on standard error. A TraceError about the bundle names *path*.
    """
    from tiersim.traces.bundle import Bundle
    from tiersim.traces.readers import holds_requests, import_trace

    with tempfile.TemporaryDirectory(prefix="tiersim-") as folder:
        target = path if (path / "requests.parquet").exists() else Path(folder) / f"{path.name}.trace"
        if target is path:
            bundle = Bundle(path)
            if bundle.rows:
                compile_if_cold()
        else:
            if holds_requests([path]):
                compile_if_cold()
            with terminal.progress_bar(f"importing {path.name}") as progress:
                import_trace([path], target, progress=progress)
            bundle = Bundle(target)
        for sentence in bundle.manifest.warnings:
            terminal.notice(f"warning: {sentence}")
        try:
            yield bundle
        except TraceError as error:
            raise TraceError(str(error).replace(str(target), str(path))) from error


def workload_of(trace: Path, option: str | None) -> Path | None:
    """Return the file of a described workload that *trace* is, None if it is none; raises ScenarioError where *option*, which is of recordings, was given."""
    from tiersim.scenarios.workloads.model import find_workload

    workload = find_workload(trace)
    if workload is not None and option is not None:
        raise ScenarioError(f"{option}: belongs to recordings, and {workload} describes a workload; leave it out")
    return workload
