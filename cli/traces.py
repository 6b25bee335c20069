"""Opens what a user calls a trace: a bundle as it is, anything else through an import into a temporary bundle; and what
is sized.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from tiersim.cli import terminal
from tiersim.cli.warmup import compile_if_cold
from tiersim.errors import ScenarioError, TraceError

if TYPE_CHECKING:
    from tiersim.traces.bundle import Bundle
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiersim.scenarios.hardware import NamedScenario
    from tiersim.scenarios.sizing.subject import Subject


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

    from tiersim.traces.readers import import_files, sort_files

    with tempfile.TemporaryDirectory(prefix="tiersim-") as folder:
        target = Path(folder) / f"{path.name}.trace"
        files = sort_files([path])
        if files.requests:
            compile_if_cold()
        with terminal.progress_bar(f"importing {path.name}") as progress:
            import_files(files, target, progress=progress)
        yield target


def workload_of(trace: Path, option: str | None) -> Path | None:
    """Return the file of a described workload that *trace* is, None if it is none; raises ScenarioError where *option*,
    which is of recordings, was given.
    """
    from tiersim.scenarios.library import find_workload

    workload = find_workload(trace)
    if workload is not None and option is not None:
        raise ScenarioError(f"{option}: belongs to recordings, and {workload} describes a workload; leave it out")
    return workload


@contextmanager
def open_subject(
    trace: Path, base: str, settings: Sequence[str], recorded_on: str | None
) -> "Iterator[Subject]":  # fmt: skip
    """Yield what *trace* is, for scenarios like *base* with *settings*; *recorded_on* is a scenario of the recorded
    hardware.
    """
    from tiersim.scenarios.loading import load_scenario
    from tiersim.scenarios.sizing.subject import of_path

    scenario = load_scenario(base, settings)
    baseline = None if recorded_on is None else load_scenario(recorded_on)
    workload = workload_of(trace, "--recorded-on" if baseline is not None else None)
    if workload is not None:
        compile_if_cold()
        yield _checked(of_path(workload, scenario), scenario)
        return
    with open_trace(trace) as bundle:
        compile_if_cold()
        yield _checked(of_path(bundle.path, scenario, baseline), scenario)


def _checked(subject: "Subject", scenario: "NamedScenario") -> "Subject":
    subject.refuse_load(scenario)
    return subject
