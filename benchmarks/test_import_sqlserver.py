"""Import of trace files and Extended Events files in which no two texts are alike: MB a second of one core."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.rounds import rounds
from tests.sqlserver_files import Load, trc_header, trc_of, xel_file, xel_of
from tiersim.traces.readers import import_trace

EVENTS = 200_000


def write(path: Path) -> None:
    load = Load(EVENTS)
    pieces = [trc_header(), *trc_of(load)] if path.suffix == ".trc" else xel_file(xel_of(load))
    with path.open("wb") as file:
        file.writelines(pieces)


@pytest.mark.parametrize("name", ["load.trc", "load.xel"])
def test_import_of_executions(tmp_path: Path, benchmark: Any, name: str) -> None:
    """Batches and calls of 40 sessions, about 500 bytes each; ``extra_info`` says MB a second."""
    write(tmp_path / name)

    def import_it() -> int:
        return import_trace([tmp_path / name], tmp_path / "out.trace", force=True).statements

    assert benchmark.pedantic(import_it, rounds=rounds(3), warmup_rounds=rounds(2) - 1) > 0.9 * EVENTS
    benchmark.extra_info["mb_per_s"] = (tmp_path / name).stat().st_size / 1e6 / benchmark.stats.stats.min
