"""Import of traces of SQL Server as texts: MB of the file, and events, a second."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.rounds import rounds
from tests.sqlserver_texts import EVENTS, event_series, event_table, trace_table, trace_xml
from tiersim.traces.readers import import_trace

#: Events in a file are as many times those of EVENTS[1:4]: a batch of two lines and two calls of sp_executesql.
TIMES = 20_000
_EVENTS = EVENTS[1:4] * TIMES


@pytest.mark.parametrize("shape", ["trace xml", "trace table", "event series", "event table"])
def test_import_of_a_text(tmp_path: Path, benchmark: Any, shape: str) -> None:
    """60,000 events; ``extra_info`` says how much of the file, and how many, a second."""
    text = {
        "trace xml": lambda: trace_xml(_EVENTS),
        "trace table": lambda: trace_table(_EVENTS).encode(),
        "event series": lambda: event_series(_EVENTS).encode(),
        "event table": lambda: event_table(_EVENTS).encode(),
    }[shape]()
    path = tmp_path / "recorded"
    path.write_bytes(text)

    def import_it() -> int:
        return import_trace([path], tmp_path / "out.trace", force=True).statements

    assert benchmark.pedantic(import_it, rounds=rounds(3), warmup_rounds=rounds(2) - 1) == 3 * TIMES
    benchmark.extra_info["mb_per_s"] = len(text) / 1e6 / benchmark.stats.stats.min
    benchmark.extra_info["events_per_s"] = 3 * TIMES / benchmark.stats.stats.min
