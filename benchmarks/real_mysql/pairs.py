"""Predict each measured cell from every other of its load, as a user would:
``python -m benchmarks.real_mysql.pairs OUT``.

OUT is what ``benchmarks.real_mysql`` measured; an empty folder, or none, gets what was measured and kept. A prediction
sees the counters of one cell, what sysbench printed of it, its pool and its cap, and how long requests of the device
took without a cap; of the other cell its pool, its cap, the size of its redo log, and whether it has a binary log. What
was predicted is kept in OUT/pairs.json until the model changes: ``--again``.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from tiersim.errors import TiersimError
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.statements.replay import replay_statements_all
from tiersim.scenarios.validation.innodb_cells import scenario_of
from tiersim.scenarios.validation.matrix_cells import COUNTERS
from tiersim.simulator.result import Result
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import mariadb

#: What is measured of a cell, and predicted.
Cell = Mapping[str, Any]
#: A capped cell is saturated where it does less than this share of what its load does on its pool without a cap.
_SATURATED = 0.6
_FAR, _COUNT_FAR = 0.25, 0.15
#: Pages that the page cleaner sends together, as many as the doublewrite buffer takes.
_BATCH_PAGES = 128
#: So few a transaction are none.
_NONE = 1e-4
#: Counts of a transaction: what is measured, and by what name it is predicted.
_COUNTS = {
    "misses": ("misses_per_tx", "misses"),
    "redo fsyncs": ("log_fsyncs_per_tx", "log_flushes"),
    "pages flushed": ("pages_flushed_per_tx", "pages_flushed"),
    "doublewrite pages": ("doublewrite_pages_per_tx", "pages_flushed"),  # of the model all pages go there
}


@dataclass(frozen=True)
class Predicted:
    """What a result says of a cell: transactions a second, ms, and counts of a transaction."""

    tps: float
    mean_ms: float
    p95_ms: float
    misses: float
    log_flushes: float
    pages_flushed: float

    @classmethod
    def of(cls, result: Result) -> "Predicted":
        """Take them from a result."""
        summary = result.summary
        transaction, log = summary["latency_ns"]["transaction"], summary["log"]
        count = max(transaction["count"], 1)
        read = sum(query["count"] * query["physical_reads_per_call"] for query in summary["queries"].values())
        return cls(
            summary["throughput_per_s"]["transactions"]["value"],
            (transaction["mean"]["value"] or 0) / 1e6,
            (transaction["p95"]["value"] or 0) / 1e6,
            read / count,
            log["flushes"] / count,
            log["pages_flushed"] / count,
        )


@dataclass(frozen=True)
class Pair:
    """A cell that was predicted from another."""

    source: Cell
    target: Cell
    kinds: str
    said: Predicted

    @property
    def error(self) -> float:
        """By which share of the measured throughput the predicted one is above it."""
        return self.said.tps / float(self.target["tps"]) - 1

    @property
    def p95(self) -> float:
        """The same of the 95th percentile."""
        return self.said.p95_ms / float(self.target["p95_ms"]) - 1

    @property
    def unchanged(self) -> float:
        """The error of the guess that nothing changes."""
        return float(self.source["tps"]) / float(self.target["tps"]) - 1

    @property
    def scaled(self) -> float:
        """The error of the guess that nothing changes but what the cap lets through of a transaction's requests."""
        found = float(self.source["tps"])
        writes = sum(self.source[name] for name in ("pages_flushed_per_tx", "log_writes_per_tx", "log_fsyncs_per_tx"))
        for name, each in (("read_iops", self.source["misses_per_tx"]), ("write_iops", writes)):
            cap = self.target[name]
            if cap and each:
                found = min(found, cap / each)
        return found / float(self.target["tps"]) - 1

    def count_off(self, name: str) -> float | None:
        """Return the error of a count of a transaction; None where there are none."""
        measured, predicted = _COUNTS[name]
        known = float(self.target[measured])
        return None if known < _NONE else float(getattr(self.said, predicted)) / known - 1


def cells_of(out: Path) -> list[Cell]:
    """Return what was measured, with the folder of each: its first repeat, and means of all."""
    repeats: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(out.glob("*/result.json")):
        name, _, number = path.parent.name.rpartition("-")
        result = json.loads(path.read_text(encoding="utf-8")) | {"folder": path.parent}
        repeats.setdefault(name if number.isdigit() else path.parent.name, []).append(result)
    return [_mean(found) | {"name": name} for name, found in repeats.items()]


def _mean(repeats: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return repeats[0] | {
        key: mean(one[key] for one in repeats)
        for key in repeats[0]
        if key in ("tps", "mean_ms", "p95_ms") or key.endswith("_per_tx")
    }


def kind_of(cell: Cell, cells: Sequence[Cell]) -> str:
    """Return ``free``, ``mild`` or ``saturated``: by what the cap leaves of the throughput without one."""
    if not cell["read_iops"]:
        return "free"
    free = [one["tps"] for one in cells if not one["read_iops"] and _alike(one, cell)]
    return "saturated" if free and cell["tps"] < _SATURATED * mean(free) else "mild"


def _alike(one: Cell, other: Cell) -> bool:
    return all(one[key] == other[key] for key in ("workload", "buffer_pool_mb", "redo_mb", "binlog"))


def device_of(source: Cell, cells: Sequence[Cell]) -> dict[str, Any]:
    """Return how long requests of the device took without a cap, and how many writes it took a second: in the cell
    itself, or in those of its load.

    A write takes as long as a read: the mean of writes, which the kernel counts, is that of pages of batches, which
    wait for each other.
    """
    free = [one for one in cells if not one["read_iops"] and one["workload"] == source["workload"]]
    seen = [source] if not source["read_iops"] else free
    read_ms, flush_ms = (mean(one["device_ms"][name] for one in seen) for name in ("read", "flush"))
    found: dict[str, Any] = {"device_ms": {"read": read_ms, "write": read_ms, "flush": flush_ms}}
    if all(one["pages_flushed_per_tx"] > _NONE for one in seen):
        found["writes_per_s"] = round(1 / mean(1 / _writes_per_s(one) for one in seen))
    return found


def _writes_per_s(cell: Cell) -> float:
    """Return how many writes a second the device takes: pages of a batch are sent together and end one behind the
    other, so that the mean of them waits for half of its batch; all other writes take as long as a read.
    """
    pages_per_s, writes_per_s = cell["pages_flushed_per_tx"] * cell["tps"], cell["device_per_s"]["writes"]
    ms = cell["device_ms"]
    page_ms = (ms["write"] * writes_per_s - ms["read"] * (writes_per_s - pages_per_s)) / pages_per_s
    return float(_BATCH_PAGES / 2 / page_ms * 1e3)


def predict(source: Cell, targets: Sequence[Cell], cells: Sequence[Cell]) -> dict[str, Predicted]:
    """Predict *targets* from *source*, by name; raises TiersimError."""
    with tempfile.TemporaryDirectory(prefix="tiersim-") as place:
        folder = Path(place)
        trace = folder / "source.trace"
        import_trace([source["folder"] / COUNTERS], trace)
        device = device_of(source, cells)
        results = replay_statements_all(
            Bundle(trace),
            [_scenario(folder, device, target) for target in targets],
            recorded_on=scenario_of(folder, run=source, **device),
            ranges=False,
        )
    return {target["name"]: Predicted.of(result) for target, result in zip(targets, results, strict=True)}


def _scenario(folder: Path, device: Mapping[str, Any], target: Cell) -> NamedScenario:
    scenario_of(folder, run=target, **device)  # writes the host and its device
    settings = [
        f"volumes.data.device=device-{target['name']}.toml",
        f"engine.buffer_pool={target['buffer_pool_mb']} MiB",
        f"engine.redo_log_capacity={target['redo_mb']} MiB",
        f"engine.binary_log={str(target['binlog']).lower()}",
        f"engine.sync_binlog={int(target['binlog'])}",
    ]
    return load_scenario(str(folder / "host.toml"), settings)


def pairs_of(cells: Sequence[Cell], predicted: Mapping[str, Mapping[str, Predicted]]) -> list[Pair]:
    """Return the pairs that were predicted, by source and target."""
    by_name = {cell["name"]: cell for cell in cells}
    kinds = {cell["name"]: kind_of(cell, cells) for cell in cells}
    return [
        Pair(by_name[source], by_name[target], f"{kinds[source]} to {kinds[target]}", said)
        for source, targets in predicted.items()
        for target, said in targets.items()
    ]


def table(pairs: Sequence[Pair], by: Callable[[Pair], tuple[str, ...]], heading: Sequence[str]) -> list[str]:
    """Return lines of Markdown: a row for each block of pairs, and one for all."""
    columns = [*heading, "pairs", "off, median", "worst", f"within {_FAR:.0%}"]
    columns += [
        "unchanged",
        "as the cap lets",
        "p95 off",
        *(f"{name} off, within {_COUNT_FAR:.0%}" for name in _COUNTS),
    ]
    blocks: dict[tuple[str, ...], list[Pair]] = {}
    for pair in pairs:
        blocks.setdefault(by(pair), []).append(pair)
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(heading) + "--:|" * (len(columns) - len(heading))]
    for key, found in [*sorted(blocks.items()), (("all", *[""] * (len(heading) - 1)), list(pairs))]:
        errors = [pair.error for pair in found]
        cells = [
            *key,
            str(len(found)),
            _median(errors),
            f"{max(errors, key=abs):+.0%}",
            f"{_share(errors, _FAR):.0%}",
            _median([pair.unchanged for pair in found]),
            _median([pair.scaled for pair in found]),
            _median([pair.p95 for pair in found]),
        ]
        for name in _COUNTS:
            off = [one for one in (pair.count_off(name) for pair in found) if one is not None]
            cells.append(f"{_median(off)}, {_share(off, _COUNT_FAR):.0%}" if off else "")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _median(errors: Sequence[float]) -> str:
    return f"{median(map(abs, errors)):.1%}"


def _share(errors: Sequence[float], limit: float) -> float:
    return mean(abs(one) <= limit for one in errors)


def every(pairs: Sequence[Pair]) -> list[str]:
    """Return a line for each pair: what was measured, what was predicted, and how far its counts are off."""
    lines = []
    for pair in pairs:
        counts = ", ".join(f"{name} {off:+.0%}" for name in _COUNTS if (off := pair.count_off(name)) is not None)
        lines.append(
            f"{pair.source['name']} to {pair.target['name']} ({pair.kinds}): measured {pair.target['tps']:,.0f}/s,"
            f" predicted {pair.said.tps:,.0f}/s, {pair.error:+.0%}; p95 {pair.p95:+.0%}; {counts}"
        )
    return lines


def main() -> int:
    """Predict what is missing, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_mysql.pairs", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--again", action="store_true", help="predict all anew")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if not cells_of(arguments.out):
        mariadb(arguments.out)
    cells = cells_of(arguments.out)
    path = arguments.out / "pairs.json"
    known: dict[str, dict[str, Any]] = {}
    if path.exists() and not arguments.again:
        known = json.loads(path.read_text(encoding="utf-8"))
    for source in cells:
        others = [one for one in cells if one["workload"] == source["workload"] and one is not source]
        missing = [one for one in others if one["name"] not in known.get(source["name"], {})]
        if missing:
            try:
                found = predict(source, missing, cells)
            except TiersimError as error:
                print(f"{source['name']}: {error}")
                continue
            known.setdefault(source["name"], {}).update({name: asdict(said) for name, said in found.items()})
            path.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
            print(f"{source['name']}: predicted", flush=True)
    predicted = {
        source: {target: Predicted(**said) for target, said in targets.items()} for source, targets in known.items()
    }
    pairs = pairs_of(cells, predicted)
    print("\n".join(["", *every(pairs), ""]))
    print("\n".join([*table(pairs, lambda pair: (pair.source["workload"], pair.kinds), ("load", "blocks")), ""]))
    print("\n".join(table(pairs, lambda pair: (pair.kinds,), ("blocks",))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
