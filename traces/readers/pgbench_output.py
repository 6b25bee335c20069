"""What pgbench prints at the end of a run, of PostgreSQL 9.4 to 18."""

import re
from decimal import Decimal
from pathlib import Path

from tiersim.errors import TraceError
from tiersim.traces.query_text import fingerprint
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Recorded, lines_of
from tiersim.units import NS_PER_S

_NUMBER = r"(\d{1,18}(?:\.\d{1,18})?)"
#: Counters and how their lines begin; before 10, ``:`` stands for ``=``, before 14 "excluding connections
#: establishing".
_NUMBERS = {
    "scale": rf"scaling factor: {_NUMBER}",
    "clients": rf"number of clients: {_NUMBER}",
    "threads": rf"number of threads: {_NUMBER}",
    "seconds": rf"duration: {_NUMBER} s",
    "transactions": rf"number of transactions actually processed: {_NUMBER}",
    "failed": rf"number of failed transactions: {_NUMBER}",
    "mean_ms": rf"latency average(?: =|:) {_NUMBER} ms",
    "stddev_ms": rf"latency stddev(?: =|:) {_NUMBER} ms",
    "lag_mean_ms": rf"rate limit schedule lag: avg {_NUMBER}",
    "lag_max_ms": rf"rate limit schedule lag: avg [\d.]+ \(max {_NUMBER}\)",
    "transactions_per_s": rf"tps = {_NUMBER} \((?:without initial|excluding)",
}
_TEXTS = {"script": r"transaction type: (.{1,200})", "mode": r"query mode: (\w{1,20})"}
_COMPILED = {name: re.compile(pattern) for name, pattern in {**_NUMBERS, **_TEXTS}.items()}
#: A statement of a script with its latency (-r), from 14 on with its failures, before 11 without a place for them; a
#: variable in it.
_STATEMENT = re.compile(r" +\d{1,9}\.\d{1,3} +(?:\d{1,18} +(?:\d{1,18} +)?)?([A-Za-z(][^\n]*)")
_VARIABLE = re.compile(r"(?<![:\w]):[A-Za-z_]\w*")
_BEGIN = re.compile(r"^transaction type: ", re.MULTILINE)
_RESULT = re.compile(r"^(?:number of clients: \d|query mode: |scaling factor: \d)", re.MULTILINE)


def looks_like_pgbench_output(text: str) -> bool:
    """Tell whether a file that begins so is what pgbench prints."""
    return bool(_BEGIN.search(text) and _RESULT.search(text)) or text.startswith("pgbench (")


def read_pgbench_output(path: Path, source: Opened, recorded: Recorded) -> None:
    """Add what pgbench measured, and how long it ran; raises TraceError when it did not come to an end."""
    values: dict[str, Decimal | str] = {}
    statements: list[str] = []
    for line in lines_of(source):
        if found := _STATEMENT.match(line):
            statements.append(fingerprint(_VARIABLE.sub("$1", found[1])))
        for name, pattern in _COMPILED.items():
            if name not in values and (found := pattern.match(line)):
                values[name] = Decimal(found[1]) if name in _NUMBERS else found[1]
    if "transactions" not in values:
        raise TraceError(f"{path}: pgbench printed no result in it, so it did not come to its end; run it again")
    if statements:
        values["statements"] = " ".join(statements)
    script = values.get("script")
    if isinstance(script, str):
        values["script"] = re.split(r"[/\\]", script)[-1]  # where it lay is nobody's business
    # It is printed when the load has ended, so it belongs to what was counted after it.
    recorded.add("after", None, {("client", path.name): values})
    seconds = values.get("seconds")
    if isinstance(seconds, Decimal) and seconds < 10**9:
        recorded.span_ns = int(seconds) * NS_PER_S
    if source.damage:
        recorded.warnings.append(f"{path.name}: {source.damage}; what is before that was read")
