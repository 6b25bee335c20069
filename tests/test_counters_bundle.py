"""A bundle of counters is imported again, with what belongs to it."""

from pathlib import Path

import pytest

from tiersim.scenarios.calibration.processor import recorded_pace
from tiersim.scenarios.validation.matrix_cells import COUNTERS, cells_of
from tiersim.traces.bundle import Bundle
from tiersim.traces.differences import read_counters
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import matrix
from tiersim.traces.statistics import read_queries, read_snapshots


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Counters of a server before and after a load, and what pgbench printed."""
    folder = tmp_path_factory.mktemp("cells")
    matrix(folder)
    return next(cell.folder / COUNTERS for cell in cells_of(folder) if cell.name == "updates-32-free")


def test_what_a_load_generator_printed_joins_counters_that_were_recorded_before(folder: Path, tmp_path: Path) -> None:
    files = sorted(folder.iterdir())
    printed = folder / "pgbench.txt"
    import_trace(files, tmp_path / "at-once.trace")
    import_trace([file for file in files if file != printed], tmp_path / "counters.trace")
    import_trace([tmp_path / "counters.trace", printed], tmp_path / "both.trace")
    at_once, alone, both = (
        recorded_pace(read_counters(tmp_path / f"{name}.trace").found) for name in ("at-once", "counters", "both")
    )
    assert both == at_once
    assert alone.transactions_per_s is None
    assert both.transactions_per_s is not None


def test_counters_alone_come_out_as_they_went_in(folder: Path, tmp_path: Path) -> None:
    """With their times, queries, and what is known of the host."""
    first, second = tmp_path / "first.trace", tmp_path / "second.trace"
    import_trace([folder], first)
    import_trace([first], second)
    assert list(read_snapshots(second)) == list(read_snapshots(first))
    queries = [[read_queries(path).texts(name) for name in ("query", "entity", "text")] for path in (first, second)]
    assert queries[0] == queries[1]
    known, again = (Bundle(path).manifest for path in (first, second))
    assert again.host == known.host
    assert again.span_ns == known.span_ns
    assert set(known.inferred) <= set(again.inferred)
