"""What ``tiersim report`` is given: results, sweeps, miss-ratio curves, load curves, searches, told apart by their
schema.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from tiersim.cli.page.study_models import Load, MissRatios, Row, Size, Sweep
from tiersim.errors import TraceError, reason

if TYPE_CHECKING:
    from tiersim.simulator.result import Result

M = TypeVar("M", bound=BaseModel)

#: Documents that are one file each, by schema.
_DOCUMENTS: dict[str, type[MissRatios | Load | Size]] = {
    "tiersim.mrc/1": MissRatios,
    "tiersim.load/1": Load,
    "tiersim.size/1": Size,
}


@dataclass(frozen=True)
class SweepFolder:
    """A sweep: its grid, a row for each point that is written, and the whole results of those that
    were kept, by point.
    """

    name: str
    sweep: Sweep
    rows: list[Row]
    kept: dict[int, Result]


@dataclass
class Studies:
    """Everything that is no result of its own, with the name of its file."""

    sweeps: list[SweepFolder] = field(default_factory=list)
    mrcs: list[tuple[str, MissRatios]] = field(default_factory=list)
    loads: list[tuple[str, Load]] = field(default_factory=list)
    sizes: list[tuple[str, Size]] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Tell whether there is anything."""
        return bool(self.sweeps or self.mrcs or self.loads or self.sizes)

    @property
    def trace_name(self) -> str:
        """Name of the first trace."""
        documents: list[Sweep | MissRatios | Load | Size] = [
            *(folder.sweep for folder in self.sweeps),
            *(document for _, document in self.mrcs),
            *(document for _, document in self.loads),
            *(document for _, document in self.sizes),
        ]
        return next((document.trace.name for document in documents if document.trace.name), "")


@dataclass
class Inputs:
    """What a page is made of."""

    results: list[Result] = field(default_factory=list)
    studies: Studies = field(default_factory=Studies)


def open_inputs(paths: Sequence[Path]) -> Inputs:
    """Read all of *paths*; raises TraceError naming the file, the place in it and the remedy."""
    from tiersim.simulator.result import load_result

    found = Inputs()
    for path in paths:
        if path.is_dir() or path.suffix == ".result":
            if (path / "sweep.json").exists():
                found.studies.sweeps.append(_open_sweep(path))
            else:
                found.results.append(load_result(path))
            continue
        document = _open_document(path)
        name = path.name.removesuffix(".json").rsplit(".", 1)[0]
        if isinstance(document, MissRatios):
            found.studies.mrcs.append((name, document))
        elif isinstance(document, Load):
            found.studies.loads.append((name, document))
        else:
            found.studies.sizes.append((name, document))
    return found


def _open_document(path: Path) -> MissRatios | Load | Size:
    values = _json(path)
    schema = values.get("schema")
    if not isinstance(schema, str) or schema not in _DOCUMENTS:
        known = ", ".join(repr(one) for one in _DOCUMENTS)
        raise TraceError(
            f"{path}: its schema is {schema!r}, and a page is made of .result and .sweep folders and of files whose"
            f" schema is one of {known}; leave it out"
        )
    return _checked(_DOCUMENTS[schema], values, path)


def _open_sweep(path: Path) -> SweepFolder:
    sweep = _checked(Sweep, _json(path / "sweep.json"), path / "sweep.json")
    for axis in sweep.axes:
        if axis.numbers is not None and len(axis.numbers) != len(axis.values):
            raise TraceError(
                f"{path / 'sweep.json'}: the axis {axis.key!r} has {len(axis.values)} values and {len(axis.numbers)}"
                " numbers; run the sweep again"
            )
    files = sorted((path / "points").glob("*.json")) if (path / "points").is_dir() else []
    rows = [_checked(Row, _json(file), file) for file in files]
    for row, file in zip(rows, files, strict=True):
        if (row.status == "done") != (row.summary is not None and bool(row.summary.latency_ns or row.summary.name)):
            raise TraceError(
                f"{file}: is {row.status!r} {'without' if row.status == 'done' else 'with'} a summary; run the sweep"
                " again"
            )
        for axis in sweep.axes:
            if row.settings.get(axis.key) not in axis.values:
                raise TraceError(
                    f"{file}: its {axis.key} is {row.settings.get(axis.key)!r}, which is not on the axis of sweep.json;"
                    " run the sweep again"
                )
    return SweepFolder(path.name.removesuffix(".sweep"), sweep, rows, _kept(path))


def _kept(path: Path) -> dict[int, Result]:
    """Whole results of points, where the sweep kept them: their names begin with the number of the point."""
    from tiersim.simulator.result import load_result

    folders = sorted((path / "results").glob("*.result")) if (path / "results").is_dir() else []
    kept: dict[int, Result] = {}
    for folder in folders:
        digits = folder.name.split(".")[0].split("-")[0]
        if digits.isdigit():
            kept.setdefault(int(digits), load_result(folder))
    return kept


def _json(path: Path) -> dict[str, object]:
    try:
        raw = path.read_bytes()
        values = json.loads(raw)
        if rb"\ud" in raw.lower():  # half a character, which no page can hold
            values = json.loads(json.dumps(values, ensure_ascii=False).encode("utf-8", "replace"))
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({reason(error)}); check the name and the permissions") from None
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path}: is not JSON or damaged ({str(error).splitlines()[0]}); write it again") from None
    if not isinstance(values, dict):
        raise TraceError(
            f"{path}: is not a JSON object but {type(values).__name__}; a page is made of files that tiersim wrote"
        )
    return values


def _checked(model: type[M], values: dict[str, object], path: Path) -> M:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"])) or "the document"
        message = problem["msg"][0].lower() + problem["msg"][1:]
        raise TraceError(f"{path}: {place}: {message}; it is damaged or of another version, write it again") from None
