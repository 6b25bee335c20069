"""A sweep on disk (``NAME.sweep/``): its plan, a file for each point that is done, and in the end one table of all
(``docs/sweeps.md``).
"""

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from tiersim.errors import OutputError, reason
from tiersim.files import (
    OLD,
    PARTIAL,
    check_target,
    checksum,
    checksums_of,
    make_folder,
    sealed,
    whole_file,
    whole_folder,
)
from tiersim.operating_system import lock
from tiersim.scenarios.sweeps.axes import Axis
from tiersim.scenarios.sweeps.grid import Point
from tiersim.scenarios.sweeps.rows import Row
from tiersim.scenarios.sweeps.table import write_table
from tiersim.simulator.result import Result, save_result

SCHEMA = "tiersim.sweep/1"
PLAN, TABLE, RUN, POINTS, _RESULTS = "sweep.json", "points.parquet", "run.json", "points", "results"
#: Another process may look, with the lock, whether it can go on with a folder that was just begun: it is gone so soon.
_LOOKS_S, _AGAIN_S = 2.0, 0.02
#: What differs between the plan of a folder and the one to be carried out there, in words.
_WORDS = {
    "trace": "another trace",
    "scenario": "another scenario",
    "axes": "other values",
    "fixed": "other settings",
    "replications": "another number of replications",
    "keep": "another --keep",
    "screen": "another --screen",
    "recorded_on": "another --recorded-on",
    "tool": "another version of tiersim",
    "scenario_hash": "a scenario, or devices, that have changed since",
}

Plan = Mapping[str, Any]


def check_folder(path: Path, *, force: bool) -> None:
    """Raise OutputError unless a sweep can be written at *path*, or one that was begun there can go on; before any
    work.
    """
    if force or not is_unfinished(path):
        check_target(path, force=force)


def is_unfinished(path: Path) -> bool:
    """Tell whether a sweep was begun at *path* and not ended."""
    return (path / PLAN).is_file() and not (path / TABLE).exists()


class SweepFolder:
    """The folder of one sweep, open for writing by one process; its methods may be called from any thread."""

    def __init__(self, path: Path) -> None:
        """Take the folder at *path* as it is; see :func:`open_folder`."""
        self.path = path

    def has(self, point: Point) -> bool:
        """Tell whether a point is done; a file that is damaged, or of another point, counts as none."""
        try:
            row = json.loads(self._row(point.number).read_bytes())
        except (OSError, ValueError):
            return False
        return isinstance(row, dict) and (row.get("point"), row.get("settings")) == (point.number, point.settings)

    def row(self, number: int) -> Row:
        """Return the row of a point that is done."""
        row: Row = json.loads(self._row(number).read_bytes())
        return row

    def write(self, row: Row, result: Result | None = None) -> None:
        """Write the row of a point, and its whole result first if there is one; both are there entirely or not at all.
        Raises OutputError.
        """
        if result is not None:
            target = self.path / _RESULTS / f"{row['point']:06d}.result"
            make_folder(target.parent)
            save_result(result, target, {}, force=True)  # a run that was killed may have left one
        with whole_file(self._row(row["point"]), force=True) as file:
            file.write_bytes(_json(row, indent=None))  # with an indent it takes Python's own writer, and ms a point

    def finish(self, points: int, axes: Sequence[Axis], facts: Mapping[str, Any]) -> None:
        """Write *facts* of the run and the table of all points; nothing is begun here any more."""
        for left in (*self.path.rglob(f".*{PARTIAL}"), *self.path.rglob(f".*{OLD}")):
            _remove(left)
        with whole_file(self.path / TABLE) as table:  # which appears last: until then the sweep is not finished
            write_table(lambda: self.rows(points), axes, table)
            checksums = {**checksums_of(self.path, RUN), TABLE: checksum(table)}
            with whole_file(self.path / RUN, force=True) as file:
                file.write_bytes(sealed(facts, checksums))

    def rows(self, points: int) -> Iterator[Row]:
        """Yield all rows in order."""
        return (self.row(number) for number in range(points))

    def _row(self, number: int) -> Path:
        return self.path / POINTS / f"{number:06d}.json"


@contextmanager
def open_folder(path: Path, plan: Plan, *, force: bool) -> Iterator[SweepFolder]:
    """Yield the folder for *plan* at *path*: a new one, or the one that was begun there with the same plan.

    Raises OutputError when a sweep there is whole or has another plan, unless *force*, and when another process is at
    work in it.
    """
    check_folder(path, force=force)
    if force or not is_unfinished(path):
        make_folder(path.parent)
        with _alone(path) if is_sweep(path) else nullcontext(), whole_folder(path, force=force) as new:
            (new / PLAN).write_bytes(_json(plan))
            (new / POINTS).mkdir()
        patience_s = _LOOKS_S
    else:
        patience_s = 0.0
    with _alone(path, patience_s):
        _check_plan(path, plan)
        yield SweepFolder(path)


def is_sweep(path: Path) -> bool:
    """Tell whether there is a sweep at *path*."""
    return (path / PLAN).is_file()


def _check_plan(path: Path, plan: Plan) -> None:
    try:
        begun = json.loads((path / PLAN).read_bytes())
    except ValueError:
        begun = None
    if not isinstance(begun, dict) or begun.get("schema") != SCHEMA:
        raise OutputError(
            f"{path / PLAN}: is not the plan of a sweep; choose another name or add --force to begin anew"
        )
    for key, what in _WORDS.items():
        if begun.get(key) != json.loads(_json(plan))[key]:
            raise OutputError(
                f"{path}: was begun with {what}, so it cannot go on; choose another name or add --force to begin anew"
            )


@contextmanager
def _alone(path: Path, patience_s: float = 0.0) -> Iterator[None]:
    """Hold the folder's lock, which ends with the process however that ends; raises OutputError when another one still
    holds it after *patience_s*.
    """
    taken = OutputError(f"{path}: another tiersim is at work there; wait for it, or choose another name")
    descriptor = os.open(path / PLAN, os.O_RDONLY)
    until_s = time.monotonic() + patience_s
    try:
        while True:
            try:
                lock(descriptor)
                break
            except BlockingIOError:
                if time.monotonic() >= until_s:
                    raise
                time.sleep(_AGAIN_S)
        if not os.path.samestat(os.fstat(descriptor), os.stat(path / PLAN)):
            raise taken  # another one has put its own folder here since this one's was opened
    except BlockingIOError:
        raise taken from None
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be locked ({reason(error)}); choose a folder of another file system"
        ) from None
    else:
        yield
    finally:
        os.close(descriptor)


def _remove(left: Path) -> None:
    if left.is_dir():
        shutil.rmtree(left, ignore_errors=True)
    else:
        left.unlink(missing_ok=True)


def _json(document: Mapping[str, Any], indent: int | None = 1) -> bytes:
    return (json.dumps(document, indent=indent, sort_keys=True, allow_nan=False) + "\n").encode()
