"""Whether what was written is whole: trace bundles, results and sweeps, by the checksums of their files."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from tiersim.errors import TraceError, reason
from tiersim.files import OLD, PARTIAL, checksum, files_of, sealed_files
from tiersim.scenarios.sweeps import folder as sweeps
from tiersim.simulator.result import RUN, load_result
from tiersim.traces.bundle import MANIFEST, Bundle
from tiersim.traces.parquet import part_of
from tiersim.traces.references import NAME as REFERENCES
from tiersim.traces.references import ReferenceTable
from tiersim.traces.statistics import read_queries, read_snapshots, read_statements

Progress = Callable[[int, int], None]
Kind = Literal["trace bundle", "result", "sweep"]
#: ``unverified``: readable to its end, and written without checksums, by another tool or an older tiersim.
Verdict = Literal["whole", "unverified", "unfinished", "damaged", "unknown"]

#: One of these files makes a folder one of that kind.
_MARKS: dict[Kind, Sequence[str]] = {
    "sweep": (sweeps.PLAN, sweeps.TABLE, sweeps.POINTS),
    "result": ("summary.json", "latency.parquet", RUN),
    "trace bundle": ("requests.parquet", MANIFEST, "statistics.parquet"),
}
#: The document that has the checksums.
_DOCUMENTS: dict[Kind, str] = {"sweep": sweeps.RUN, "result": RUN, "trace bundle": MANIFEST}
_REMEDY: dict[Kind, str] = {
    "sweep": "run the sweep again",
    "result": "run the replay again",
    "trace bundle": "import or record again, or take a copy",
}


@dataclass
class Checked:
    """What was found at a path: a verdict, and in ``found`` a sentence for each thing that is
    wrong, or worth knowing.
    """

    path: Path
    kind: Kind | None
    verdict: Verdict
    files: int = 0
    bytes: int = 0
    found: list[str] = field(default_factory=list)

    @property
    def usable(self) -> bool:
        """Whether nothing is known to be wrong with it."""
        return self.verdict in ("whole", "unverified")


def check(path: Path, progress: Progress | None = None) -> Checked:
    """Tell whether what is at *path* is whole; *progress* is called with the bytes that were read, and all."""
    kind = next((kind for kind, names in _MARKS.items() if any((path / name).exists() for name in names)), None)
    if path.name.startswith(".") and path.name.endswith((PARTIAL, OLD)):
        sentence = (
            f"{path}: is what a command left that was killed, or is at work; remove it when none is at work there"
        )
        return Checked(path, kind, "unfinished", found=[sentence])
    if kind is None:
        return Checked(path, None, "unknown", found=[_unknown(path)])
    files = {name: file for name, file in files_of(path).items() if file.exists()}
    checked = Checked(path, kind, "whole", len(files), sum(file.stat().st_size for file in files.values()))
    listed = _listed(checked)
    if kind == "sweep" and sweeps.is_unfinished(path):
        checked.verdict = "unfinished"
        checked.found = [_points_done(path)]
    elif listed is not None:
        _compare(checked, files, listed, progress)
    elif not checked.found:
        checked.verdict = "unverified"
        _read(checked)
    if checked.found and checked.verdict not in ("unfinished", "unverified"):
        checked.verdict = "damaged"
    checked.found += [f"{left}: lies beside it; {_LEFT}" for left in _left_beside(path)]
    return checked


_LEFT = "a command that was killed left it, or is at work there; remove it when none is"


def _unknown(path: Path) -> str:
    if path.is_dir():
        return f"{path}: holds nothing of a trace bundle, a result or a sweep; give a folder that tiersim wrote"
    old = next((left for left in _left_beside(path) if left.name.endswith(OLD)), None)
    if not path.exists() and old is not None:
        return f"{path}: is not there; a command was killed while it replaced it, and {old} is what it was: rename that"
    return (
        f"{path}: is {'a file' if path.exists() else 'not there'}; give the folder of a trace bundle, a result or a"
        " sweep"
    )


def _left_beside(path: Path) -> list[Path]:
    return sorted(left for end in (PARTIAL, OLD) for left in path.parent.glob(f".{escape(path.name)}.*{end}"))


def _listed(checked: Checked) -> dict[str, str] | None:
    """Return the checksums that were written; None, with a sentence in ``found`` where that is a fault, when there are
    none.
    """
    assert checked.kind is not None
    document = checked.path / _DOCUMENTS[checked.kind]
    try:
        return sealed_files(part_of(checked.path, document.name).read_bytes())
    except FileNotFoundError:
        if checked.kind != "trace bundle":  # which other tools write without
            checked.found.append(f"{document}: is missing; {_REMEDY[checked.kind]}")
    except OSError as error:
        checked.found.append(f"{document}: cannot be read ({reason(error)})")
    except ValueError as error:
        checked.found.append(f"{document}: is damaged ({error}); {_REMEDY[checked.kind]}")
    except TraceError as error:
        checked.found.append(str(error))
    return None


def _compare(checked: Checked, files: dict[str, Path], listed: dict[str, str], progress: Progress | None) -> None:
    assert checked.kind is not None
    document, remedy, done = _DOCUMENTS[checked.kind], _REMEDY[checked.kind], 0
    for name in sorted(listed.keys() - files.keys()):
        shown = name if name.isprintable() else repr(name)
        checked.found.append(f"{checked.path / shown}: is missing; {remedy}")
    for name, file in files.items():
        if name == document:
            continue
        if name not in listed:
            checked.found.append(f"{file}: was not written with the {checked.kind}; remove it, or {remedy}")
            continue
        try:
            if checksum(part_of(checked.path, name)) != listed[name]:
                checked.found.append(f"{file}: is damaged (its checksum is not the one that was written); {remedy}")
        except OSError as error:
            checked.found.append(f"{file}: cannot be read ({reason(error)}); {remedy}")
        except TraceError as error:
            checked.found.append(str(error))
        done += file.stat().st_size
        if progress is not None:
            progress(done, checked.bytes)


def _read(checked: Checked) -> None:
    """Read what has no checksums to its end, for what can be found in that way."""
    path = checked.path
    try:
        if checked.kind == "trace bundle":
            _read_bundle(checked)
        elif checked.kind == "result":
            load_result(path)
        else:
            _read_sweep(path)
    except (TraceError, OSError) as error:
        checked.verdict = "damaged"
        checked.found.append(str(error))


def _read_bundle(checked: Checked) -> None:
    bundle = Bundle(checked.path)
    _exhaust(bundle.blocks())
    if (checked.path / REFERENCES).exists():
        _exhaust(ReferenceTable(checked.path).blocks())
    read_statements(checked.path)
    read_queries(checked.path)
    _exhaust(read_snapshots(checked.path))
    if not bundle.manifest.ended:
        checked.verdict = "unfinished"
        checked.found += [f"{checked.path}: {sentence}" for sentence in bundle.manifest.warnings[-1:]]


def _exhaust(blocks: Iterable[object]) -> None:
    deque(blocks, 0)


def _read_sweep(path: Path) -> None:
    try:
        pq.read_table(part_of(path, sweeps.TABLE))
    except pa.ArrowInvalid:
        raise TraceError(f"{path / sweeps.TABLE}: is not a whole Parquet file; {_REMEDY['sweep']}") from None
    for row in sorted((path / sweeps.POINTS).glob("*.json")):
        if not _is_json(row):
            raise TraceError(f"{row}: is not JSON; {_REMEDY['sweep']}")


def _points_done(path: Path) -> str:
    done = sum(_is_json(row) for row in (path / sweeps.POINTS).glob("*.json"))
    return f"{path}: was begun and not ended, {done:,} of its points are done; the same command goes on from there"


def _is_json(path: Path) -> bool:
    try:
        return isinstance(json.loads(path.read_bytes()), dict)
    except (OSError, ValueError, RecursionError):
        return False
