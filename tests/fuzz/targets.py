"""What damaged files are given to: every reader of recordings, and every loader of files that
people or tiersim write.
"""

import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from tiersim import sources
from tiersim.cli import measured, page
from tiersim.devices import catalogue
from tiersim.errors import ScenarioError, TraceError
from tiersim.kernel import jit_enabled
from tiersim.scenarios import library
from tiersim.scenarios.sizing import candidates
from tiersim.scenarios.workloads import model as workloads
from tiersim.traces import bundle, references, statistics
from tiersim.traces.bundle import MOST, Bundle, Requests
from tiersim.traces.description import describe
from tiersim.traces.readers import load_generators
from tiersim.traces.readers.importing import FORMATS, SOURCES, detect_format, import_trace
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.references import References, ReferenceTable
from tiersim.traces.schema import NOT_MEASURED, OPERATIONS, PURPOSES
from tiersim.traces.statistics import read_queries, read_snapshots, read_statements

#: What is touched is gone through page by page: of so much, what a kernel does in a moment takes Python minutes.
_MOST_TOUCHED_BYTES = 1 << 29
#: What a reader or loader may raise.
REFUSALS = (TraceError, ScenarioError)


class Target(NamedTuple):
    """Something that reads files.

    ``read`` takes a file up to the columns that it holds; ``through`` takes it to a bundle in an empty folder, and
    everything out of that again. Both may raise what is in REFUSALS, in a sentence that names the file; what
    ``through`` has written must be readable without that.
    """

    read: Callable[[Path], object]
    through: Callable[[Path, Path], object] | None
    file_name: str
    module: str  # what reads; a count of executions is of its sources
    of_bundle: bool = False  # refusals may name the bundle that the file is a part of

    def version(self) -> str:
        """Return a hash of all sources that take part in reading."""
        return sources.sources_hash(Path(str(import_module(self.module).__file__)).resolve())[:8]


class _References:
    """Takes page references as a writer of them does, and looks whether they are any."""

    def __init__(self) -> None:
        self.relation_names: list[str] = []
        self.rows = 0
        self.last_ns = 0

    def append(self, block: References) -> None:
        assert (block.relation >= 0).all()
        assert (block.relation < len(self.relation_names)).all()
        self.rows += len(block)


class _Writer:
    """Takes requests as a writer of bundles does, and looks whether they are any that a bundle may hold."""

    def __init__(self, folder: Path) -> None:
        self.file_names: list[str] = []
        self.stream_names: list[str] = []
        self.observers: list[Callable[[Requests], None]] = []
        self.rows = 0
        self.last_ns = 0
        self.folder = folder
        self.references = _References()

    def append(self, block: Requests) -> None:
        if not len(block):
            return
        times = block.time_ns
        assert int(times[0]) >= self.last_ns, "times fall"
        assert (times[1:] >= times[:-1]).all(), "times fall"
        assert int(times[-1]) <= MOST
        assert (block.op < len(OPERATIONS)).all()
        assert (block.purpose < len(PURPOSES)).all()
        assert ((block.file >= 0) & (block.file < len(self.file_names))).all()
        assert ((block.stream >= -1) & (block.stream < len(self.stream_names))).all()
        for column in (block.offset_bytes, block.length_bytes):
            assert ((column >= 0) & (column <= MOST)).all()
        assert ((block.length_bytes > 0) | (block.op == OPERATIONS.index("flush"))).all()
        for column in (block.issue_ns, block.latency_ns):
            assert ((column >= NOT_MEASURED) & (column <= MOST)).all()
        self.rows += len(block)
        self.last_ns = int(times[-1])


def _read_source(key: str, path: Path) -> None:
    recorded = Recorded()
    with Opened(path) as source:
        SOURCES[key].read(path, source, recorded)
        source.sha256()
    SOURCES[key].finish(recorded)
    recorded.snapshots()


def _read_requests(key: str, path: Path) -> None:
    writer: Any = _Writer(path.parent)
    FORMATS[key].read([path], writer, None)


def _import(key: str, path: Path, folder: Path) -> None:
    """Import a file, tell what it is, and read all that the bundle holds."""
    try:
        detect_format(path)
    except TraceError as error:
        _in_a_sentence(error, path)
    target = folder / "imported.trace"
    import_trace([path], target, format=key)
    try:
        written = Bundle(target)
        requests = written.requests()
        assert len(requests) == written.rows
        touched_bytes = float(requests.length_bytes.sum(dtype=np.float64))
        table = read_statements(target)
        assert (np.diff(table.columns["time_ns"]) >= 0).all()
        assert {query for query in table.texts("query") if query} <= set(read_queries(target).texts("query"))
        list(read_snapshots(target))
        if (target / references.NAME).exists():
            list(ReferenceTable(target).blocks())
        is_described = written.rows or written.manifest.statements or written.manifest.snapshots
        if is_described and (jit_enabled() or touched_bytes < _MOST_TOUCHED_BYTES):
            describe(written)
    except REFUSALS as error:
        raise AssertionError(f"what was imported cannot be read: {error}") from error


def _in_a_sentence(error: Exception, path: Path) -> None:
    """Raise AssertionError unless *error* says in one sentence a file, or for each mistake in one, what is wrong with
    it.
    """
    lines = str(error).split("\n")
    is_one = len(lines) == 1 or isinstance(error, ScenarioError)
    if not is_one or not all(line.startswith(str(path)) for line in lines):
        raise AssertionError(f"no sentence that names the file: {error}") from error
    if max(map(len, lines)) > 2000:
        raise AssertionError(f"a sentence of {max(map(len, lines))} characters") from error


def refused(target: Target, path: Path, folder: Path | None = None) -> bool:
    """Have *path* read, through a bundle in *folder* if there is one, and tell whether it was refused.

    Raises AssertionError, or whatever comes, where a file is neither read nor refused in a sentence.
    """
    try:
        if folder is None or target.through is None:
            target.read(path)
        else:
            target.through(path, folder)
    except REFUSALS as error:
        _in_a_sentence(error, path.parent if target.of_bundle else path)
        return True
    finally:
        if folder is not None:
            for left in folder.iterdir():
                shutil.rmtree(left)
    return False


def _manifest(folder: Path) -> None:
    """Read a manifest beside a table without rows."""
    if not (folder / "requests.parquet").exists():
        with bundle.write_bundle(folder / "empty.trace"):
            pass
        (folder / "empty.trace" / "requests.parquet").replace(folder / "requests.parquet")
        shutil.rmtree(folder / "empty.trace")
    describe(Bundle(folder))


#: Names of files; the rest is as good as any.
_FILE_NAME, _FILE_NAMES = "recorded.txt", {"blktrace": "recorded.blktrace.0"}


def _importing(key: str, read: Callable[[str, Path], None], own: Callable[..., Any]) -> Target:
    owner = getattr(own, "__self__", own)
    return Target(
        lambda path: read(key, path),
        lambda path, folder: _import(key, path, folder),
        _FILE_NAMES.get(key, _FILE_NAME),
        owner.__module__,
    )


def _loading(read: Callable[[Path], object], name: str, module: ModuleType) -> Target:
    return Target(read, None, name, module.__name__)


def _of_bundle(read: Callable[[Path], object], name: str, module: ModuleType) -> Target:
    return Target(lambda path: read(path.parent), None, name, module.__name__, of_bundle=True)


def _device(path: Path) -> object:
    return catalogue.load_device(str(path))


TARGETS: dict[str, Target] = {
    **{key: _importing(key, _read_source, source.read) for key, source in SOURCES.items()},
    **{key: _importing(key, _read_requests, kind.read) for key, kind in FORMATS.items()},
    "fio-json": _loading(load_generators.measurements, "measured.json", load_generators),
    "diskspd-xml": _loading(load_generators.measurements, "measured.xml", load_generators),
    "measured-points": _loading(load_generators.measurements, "measured.csv", load_generators),
    "measured-figures": _loading(measured.read_measured, "figures.json", measured),
    "device": _loading(_device, "device.toml", catalogue),
    "disksim-parameters": _loading(_device, "disk.diskspecs", catalogue),
    "scenario": _loading(lambda path: library.load_scenario(str(path)), "scenario.toml", library),
    "workload": _loading(workloads.read_workload, "workload.toml", workloads),
    "candidates": _loading(candidates.read_candidates, "candidates.toml", candidates),
    "studies": _loading(lambda path: page.open_inputs([path]), "study.json", page),
    "sweep": _of_bundle(lambda folder: page.open_inputs([folder]), "sweep.json", page),
    "manifest": _of_bundle(_manifest, "manifest.json", bundle),
    "bundle-requests": _of_bundle(lambda folder: Bundle(folder).requests(), "requests.parquet", bundle),
    "bundle-statements": _of_bundle(read_statements, statistics.STATEMENTS, statistics),
    "bundle-queries": _of_bundle(read_queries, statistics.QUERIES, statistics),
    "bundle-statistics": _of_bundle(lambda folder: list(read_snapshots(folder)), statistics.NAME, statistics),
    "bundle-references": _of_bundle(lambda folder: list(ReferenceTable(folder).blocks()), references.NAME, references),
}
