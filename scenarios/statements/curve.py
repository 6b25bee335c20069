"""How many transactions end in each second of a run, beside the recording: a load on caches that fill runs faster and
faster.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.synthesis.logged_transactions import logged_transactions
from tiersim.simulator.database.database_state import Database
from tiersim.units import NS_PER_S

#: A step is the shortest of these of which so few fill the recording's time.
_STEPS_S, _MOST_STEPS = (1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600), 10

Column = NDArray[np.int64]


def curve(path: Path | None, database: Database, span_ns: int) -> dict[str, Any]:
    """Return transactions a second in each whole step of *span_ns*, of a run and of the bundle at *path*, None where
    there is none and where no load generator logged when they ended.
    """
    step_ns = NS_PER_S * next(
        (step for step in _STEPS_S if span_ns < (_MOST_STEPS + 1) * step * NS_PER_S), _STEPS_S[-1]
    )
    logged = None if path is None else logged_transactions(path)
    recorded = logged.end_ns - logged.start_ns.min() if logged is not None and len(logged.end_ns) else None
    done_ns = database.done_ns[(database.ends > 0) & (database.done_ns > 0)]
    return {
        "step_ns": step_ns,
        "transactions_per_s": _rates(done_ns, step_ns, span_ns),
        "recorded_transactions_per_s": None if recorded is None else _rates(recorded, step_ns, span_ns),
    }


def _rates(ends_ns: Column, step_ns: int, span_ns: int) -> list[float]:
    """Return what ends in a second of each step; one that lacks less than a twentieth is whole."""
    starts_ns = np.arange((span_ns + step_ns // 20) // step_ns) * step_ns
    lengths_ns = np.minimum(step_ns, span_ns - starts_ns)
    counts = np.bincount(ends_ns[ends_ns < span_ns] // step_ns, minlength=len(starts_ns))[: len(starts_ns)]
    rates: list[float] = (counts * NS_PER_S / lengths_ns).tolist()
    return rates
