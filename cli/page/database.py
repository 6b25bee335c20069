"""What a simulated database did over time besides its transactions: dirty pages and the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tiersim.cli.page.numbers import rounded, whole
from tiersim.cli.page.series import counted_ns

if TYPE_CHECKING:
    from tiersim.simulator.result import Result


def database_payload(result: Result, merged: int) -> dict[str, Any] | None:
    """Dirty pages (the most of the merged intervals) and bytes of the log a second, over the time that is counted; None where nobody ran any."""
    import numpy as np

    if result.database is None:
        return None
    from_ns, until_ns = counted_ns(result.summary)
    start_ns, end_ns = (result.database[name].to_numpy() for name in ("start_ns", "end_ns"))
    chosen = (start_ns >= from_ns) & (start_ns < until_ns)
    if not chosen.any():
        return None
    start_ns, end_ns = start_ns[chosen], end_ns[chosen]
    groups = np.arange(0, len(start_ns), merged)
    dirty, log_bytes = (result.database[name].to_numpy()[chosen] for name in ("dirty_pages", "log_bytes"))
    widths_s = np.add.reduceat(end_ns - start_ns, groups) / 1e9
    return {
        "start_s": rounded(start_ns[groups] / 1e9, 7),
        "end_s": rounded(np.maximum.reduceat(end_ns, groups) / 1e9, 7),
        "dirty_pages": whole(np.maximum.reduceat(dirty, groups)),
        "log_bytes_per_s": whole(np.rint(np.add.reduceat(log_bytes, groups) / widths_s)),
    }
