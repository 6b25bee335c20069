"""Import of published CSV traces: rows a second, where every line is well and where some are
damaged or out of order.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.rounds import rounds
from tiersim.traces.readers import import_trace

ROWS = 1_000_000
_RANDOM = np.random.default_rng(1)
_TIMES = np.sort(_RANDOM.integers(0, ROWS * 100, ROWS)).tolist()
_OFFSETS = (_RANDOM.integers(0, 1 << 30, ROWS) * 4096).tolist()
_LENGTHS = (_RANDOM.integers(1, 33, ROWS) * 4096).tolist()

LINES: dict[str, Callable[[int, int, int, int], str]] = {
    "msr": lambda n, t, o, s: (
        f"{128166372003061629 + t},src{n % 30},{n % 3},{('Read', 'Write')[n & 1]},{o},{s},{t % 9999}\n"
    ),
    "systor17": lambda n, t, o, s: (
        f"{1455591804 + t // 10**6}.{t % 10**6:06}000,0.{t % 10**6:06}000,R,{n % 6},{o},{s}\n"
    ),
    "alibaba out of order": lambda n, t, o, s: f"{n % 900},W,{o},{s},{1577808000000000 + t + n % 977 * 1000}\n",
    "alibaba with damage": lambda n, t, o, s: f"{n % 900},W,{o},{s},{t}\n" if n % 5000 else "damaged\n",
    "disksim": lambda n, t, o, s: f"{t // 1000}.{t % 1000:06} {n % 30} {o // 512} {s // 512} {n & 1}\n",
}


@pytest.mark.parametrize("case", LINES)
def test_import_of_a_table(tmp_path: Path, benchmark: Any, case: str) -> None:
    """A million lines; ``extra_info`` says how many a second."""
    line = LINES[case]
    columns = zip(range(ROWS), _TIMES, _OFFSETS, _LENGTHS, strict=True)
    (tmp_path / "table").write_text("".join(line(*row) for row in columns))

    def import_it() -> int:
        return import_trace([tmp_path / "table"], tmp_path / "out.trace", format=case.split()[0], force=True).requests

    assert benchmark.pedantic(import_it, rounds=rounds(3), warmup_rounds=rounds(2) - 1) >= ROWS * 0.999
    benchmark.extra_info["rows_per_s"] = ROWS / benchmark.stats.stats.min
