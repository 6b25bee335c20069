"""What sysbench prints, read as what a load generator measured."""

from pathlib import Path

import pytest

from tests.recorded_files import read_files, values
from tiersim.errors import TraceError
from tiersim.traces.readers.importing import detect_format

PRINTED = """sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 8
Report intermediate results every 1 second(s)

[ 1s ] thds: 8 tps: 3492.63 qps: 20977.78 (r/w/o: 3499.63/10485.89/6992.26) lat (ms,99%): 4.41 err/s: 0.00
SQL statistics:
    queries performed:
        read:                            262277
    transactions:                        262277 (2913.76 per sec.)
    queries:                             1573662 (17482.54 per sec.)

General statistics:
    total time:                          90.0130s

Latency (ms):
         avg:                                    2.74
         sum:                               719504.80
"""


def test_clients_rate_and_mean_are_read(tmp_path: Path) -> None:
    file = tmp_path / "run.out"
    file.write_text(PRINTED)
    assert detect_format(file) == "sysbench-output"
    recorded = read_files(file)
    found = values(recorded, "client")["run.out"]
    assert found["clients"] == 8
    assert float(found["transactions_per_s"]) == pytest.approx(262277 / 90.013)
    assert float(found["mean_ms"]) == pytest.approx(719504.80 / 262277)
    assert recorded.span_ns == 90_013_000_000


@pytest.mark.parametrize(
    ("line", "lacks"),
    [
        ("    total time:                          90.0130s\n", "no seconds"),
        ("         sum:                               719504.80\n", "no sum of latencies"),
        ("transactions:                        262277", "no transactions"),
    ],
)
def test_a_run_that_did_not_end_is_refused(tmp_path: Path, line: str, lacks: str) -> None:
    file = tmp_path / "run.out"
    file.write_text(PRINTED.replace(line, "transactions:     0" if "tran" in line else ""))
    with pytest.raises(TraceError, match=f"{lacks} in it, .*; run it again"):
        read_files(file)
