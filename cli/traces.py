"""Opens what a user calls a trace: a bundle as it is, anything else through an import into a temporary bundle."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
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

    with nullcontext(path) if (path / "requests.parquet").exists() else _imported(path) as target:
        bundle = Bundle(target)
        if target is path and bundle.rows:
            compile_if_cold()
        for sentence in bundle.manifest.warnings:
            terminal.notice(f"warning: {sentence}")
        try:
            yield bundle
        except TraceError as error:
            raise TraceError(str(error).replace(str(target), str(path))) from error


@contextmanager
def _imported(path: Path) -> Iterator[Path]:
    """Yield a bundle that is imported from the file at *path*, and goes when the block ends."""
    import tempfile

    from tiersim.traces.readers import holds_requests, import_trace

    with tempfile.TemporaryDirectory(prefix="tiersim-") as folder:
        target = Path(folder) / f"{path.name}.trace"
        if holds_requests([path]):
            compile_if_cold()
        with terminal.progress_bar(f"importing {path.name}") as progress:
            import_trace([path], target, progress=progress)
        yield target


def workload_of(trace: Path, option: str | None) -> Path | None:
    """Return the file of a described workload that *trace* is, None if it is none; raises ScenarioError where *option*, which is of recordings, was given."""
    from tiersim.scenarios.workloads.files import find_workload

    workload = find_workload(trace)
    if workload is not None and option is not None:
        raise ScenarioError(f"{option}: belongs to recordings, and {workload} describes a workload; leave it out")
    return workload
