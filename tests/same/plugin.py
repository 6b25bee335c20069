"""A plugin of pytest that notes what tests compute: a line for each run, result, document and written table, by the
test and their order in it.

The environment says where (``TIERSIM_SAME_OUT``), of which tree the names are (``TIERSIM_SAME_NAMES``: a file, and
``TIERSIM_SAME_IS_BASE``), and whether each number has a digest of its own (``TIERSIM_SAME_LEAVES``) or all together
have one.
"""

import json
import os
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import wraps
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from pyarrow import parquet

from tests.same.leaves import leaves
from tests.same.names import read_names

# Draws are those of the seed alone, not of what failed before; test files are imported later, and take this profile.
settings.register_profile("same", database=None)
settings.load_profile("same")


class Noted:
    """Writes down what one process computes."""

    def __init__(self) -> None:
        """Read the settings from environment variables; they are named above."""
        names = read_names(Path(os.environ["TIERSIM_SAME_NAMES"]))
        self._name = names.of_base if os.environ.get("TIERSIM_SAME_IS_BASE") else names.of_here
        self._apart = bool(os.environ.get("TIERSIM_SAME_LEAVES"))
        worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        self._file = (Path(os.environ["TIERSIM_SAME_OUT"]) / f"{worker}.jsonl").open("w", encoding="utf-8")
        self._test: str | None = None
        self._count: dict[str, int] = {}
        self._alone = threading.Lock()  # runs in several threads are noted one after the other

    def begin(self, test: str) -> None:
        """Note what follows under the name of a test."""
        self._test, self._count = test, {}

    @contextmanager
    def apart(self, name: str) -> Iterator[None]:
        """Note what is computed meanwhile under another name."""
        before = self._test, self._count
        self.begin(name)
        try:
            yield
        finally:
            self._test, self._count = before

    def end(self, test: str, outcome: str) -> None:
        """Note how a test ended."""
        self._write(test, "outcome", outcome)
        self._test = None

    def add(self, kind: str, value: Any) -> None:
        """Note the numbers of something that was computed."""
        test, count = self._test, self._count  # a thread may end behind its test
        if test is None:
            return
        named = ((self._name(name), digest) for name, digest in leaves(value, kind))
        found = dict(sorted((name, digest) for name, digest in named if name is not None))
        whole = blake2b(json.dumps(found).encode(), digest_size=16).hexdigest()
        with self._alone:
            place = count[kind] = count.get(kind, -1) + 1
            self._write(test, f"{kind} {place}", found if self._apart else whole)

    def _write(self, test: str, what: str, noted: Any) -> None:
        self._file.write(json.dumps([test, what, noted]) + "\n")
        self._file.flush()


_noted = Noted()


def _wrapped(owner: Any, name: str, kind: str, of: Callable[..., Any]) -> None:
    """Let a function note what *of* says of its arguments and its answer."""
    function = getattr(owner, name)

    @wraps(function)
    def noting(*arguments: Any, **named: Any) -> Any:
        answer = function(*arguments, **named)
        _noted.add(kind, of(answer, *arguments, **named))
        return answer

    setattr(owner, name, noting)


def pytest_configure() -> None:
    """Look over the shoulder of whatever makes figures."""
    from tiersim.cli import terminal
    from tiersim.simulator.compiled import engine
    from tiersim.simulator.reference.engine import ReferenceEngine
    from tiersim.simulator.result import Result

    def of_blocks(answer: Any, plant: Any, blocks: Any, metrics: Any, **_: Any) -> Any:
        return {"plant": answer[0], "outcome": answer[1], "metrics": metrics}

    def of_streams(answer: Any, plant: Any, streams: Any, metrics: Any, **_: Any) -> Any:
        return {"plant": answer[0], "outcome": answer[1], "metrics": metrics, "streams": streams}

    def of_database(answer: Any, plant: Any, database: Any, metrics: Any, **_: Any) -> Any:
        return {"plant": answer[0], "outcome": answer[1], "metrics": metrics, "database": database}

    def of_reference(answer: Any, one: Any) -> Any:
        return {"plant": one.plant, "outcome": answer, "metrics": one.metrics, "database": one.database}

    def of_result(answer: None, one: Any, *_: Any, **__: Any) -> Any:
        return vars(one)

    def of_document(answer: None, document: Any, *_: Any, **__: Any) -> Any:
        return document

    def of_table(answer: None, writer: Any, table: pa.Table, *_: Any, **__: Any) -> Any:
        return table

    _wrapped(engine, "run", "run", of_blocks)
    _wrapped(engine, "run_streams", "run", of_streams)
    _wrapped(engine, "run_database", "run", of_database)
    _wrapped(ReferenceEngine, "run", "reference", of_reference)
    _wrapped(Result, "__init__", "result", of_result)
    _wrapped(terminal, "print_json", "printed", of_document)
    _wrapped(terminal, "write_json", "written", of_document)
    _wrapped(parquet.ParquetWriter, "write_table", "table", of_table)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note what a test computes under its name, wherever its file lies."""
    _noted.begin(f"{item.path.stem}::{item.name}")
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Note what several tests share under its own name: which of them comes first is chance where workers share tests
    out, and each worker makes it anew.
    """
    if fixturedef.scope == "function":
        return (yield)
    place = f"{fixturedef.argname} {getattr(request, 'param_index', 0)}"
    with _noted.apart(f"{Path(fixturedef.baseid).stem}::fixture {place}"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note how a test ended."""
    report = yield
    if report.when == "call" or report.skipped:
        _noted.end(f"{item.path.stem}::{item.name}", report.outcome)
    return report
