"""How long commits took, as far as a server's log says (``log_min_duration_sample``)."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

#: Durations of a statement that was prepared; the log has ``LOG_PREFIX`` of :mod:`checkpoints` before them.
_COMMIT = re.compile(r"^(\d+\.\d+) LOG:  duration: ([\d.]+) ms  execute \w+: (?:END|COMMIT);$")


def commits_of(lines: Iterable[str], since_unix_s: float, quantiles: Iterable[float]) -> dict[str, Any] | None:
    """Return number, mean and *quantiles* of the commits that a log times from a moment on; None without any."""
    found = [match for match in map(_COMMIT.match, lines) if match and float(match[1]) >= since_unix_s]
    if not found:
        return None
    took_ms = np.array([float(match[2]) for match in found])
    return {
        "timed": len(found),
        "mean_ms": round(float(took_ms.mean()), 4),
        "quantiles_ms": {str(q): round(float(np.quantile(took_ms, q)), 3) for q in quantiles},
    }
