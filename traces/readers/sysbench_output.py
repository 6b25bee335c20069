"""What sysbench 1.0 prints, of a test of a database that came to its end."""

import re
from decimal import Decimal
from pathlib import Path

from tiersim.errors import TraceError
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Recorded, lines_of
from tiersim.units import NS_PER_S

_NUMBER = r"(\d{1,18}(?:\.\d{1,18})?)"
#: Counters and their lines; _SUM_MS is that of the latencies, whose mean is printed with two digits alone.
_SUM_MS = "sum_ms"
_LINES = {
    name: re.compile(pattern)
    for name, pattern in {
        "threads": rf"Number of threads: {_NUMBER}\s*",
        "transactions": rf" +transactions: +{_NUMBER} +\(",
        "seconds": rf" +total time: +{_NUMBER}s\s*",
        _SUM_MS: rf" +sum: +{_NUMBER}\s*",
    }.items()
}


def looks_like_sysbench_output(text: str) -> bool:
    """Tell whether a file that begins so is what sysbench prints."""
    return re.match(r"(?:[^\n]{0,500}\n){0,5}?sysbench \d+\.\d+", text) is not None


def read_sysbench_output(path: Path, source: Opened, recorded: Recorded) -> None:
    """Add what sysbench measured, and how long it ran; raises TraceError when it did not come to an end."""
    found: dict[str, Decimal] = {}
    for line in lines_of(source):
        for name, pattern in _LINES.items():
            if name not in found and (matched := pattern.match(line)):
                found[name] = Decimal(matched[1])
    lacking = [name for name in _LINES if not found.get(name)]
    if lacking:
        raise TraceError(
            f"{path}: sysbench printed no {' and no '.join(lacking).replace(_SUM_MS, 'sum of latencies')} in it, so it"
            " measured no transactions or did not come to its end; run it again"
        )
    values: dict[str, Decimal | str] = {
        "clients": found["threads"],
        "seconds": found["seconds"],
        "transactions": found["transactions"],
        "transactions_per_s": found["transactions"] / found["seconds"],
        "mean_ms": found[_SUM_MS] / found["transactions"],
    }
    # It is printed when the load has ended, so it belongs to what was counted after it.
    recorded.add("after", None, {("client", path.name): values})
    if found["seconds"] < 10**9:
        recorded.span_ns = recorded.span_ns or round(found["seconds"] * NS_PER_S)
    if source.damage:
        recorded.warnings.append(f"{path.name}: {source.damage}; what is before that was read")
