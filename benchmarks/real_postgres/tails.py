"""How far recorded 99th percentiles of transactions lie from predicted ones, and what intervals from other experiments
hold.

``python -m benchmarks.real_postgres.tails`` says so of the cells that the project ships (scenarios/validation/p99.csv).
``--write FILE`` predicts them anew, the pairs of cells of the matrix (30 minutes of CPU) and, with ``--postgres
FOLDER``, recordings of two other benches: ``lab`` and ``ab``, each load predicted from its run without a cap. What is
predicted of a source is a line of ``FILE.part`` at once; a run that was ended goes on from there.
"""

import argparse
import csv
import gzip
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import astuple, fields
from functools import partial
from pathlib import Path

import numpy as np

from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.statements.replay import replay_statements_all
from tiersim.scenarios.tails import SHARE, TailCell, cells, held, reach
from tiersim.scenarios.validation.matrix_cells import capped_device, cells_of
from tiersim.scenarios.validation.pairs import others_of, results_of
from tiersim.simulator.result import Result
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import matrix
from tiersim.units import NS_PER_MS

_DRAWS, _SEED = 10_000, 1
#: Of the other benches: the experiment, its recording without a cap and the pool of that in MiB, then each cell with
#: its pool and its caps of reads and of writes; pools of ``ab`` are as recorded.
_Target = tuple[str, int | None, int | None, int | None]
_OTHERS: tuple[tuple[str, tuple[str, int | None], tuple[_Target, ...]], ...] = (
    (
        "lab lookups",
        ("lab/select_zipf_sb256_free", 256),
        (("lab/select_zipf_sb64_r500", 64, 500, None), ("lab/select_zipf_sb1024_r2000", 1024, 2000, None)),
    ),
    ("lab updates", ("lab/update_zipf_sb512_free", 512), (("lab/update_zipf_sb512_rw300", 512, 300, 300),)),
    ("ab lookups", ("ab/sel_fast_1", None), (("ab/sel_read400_1", None, 400, None),)),
    ("ab tpcb", ("ab/tpcb_fast_1", None), (("ab/tpcb_read400_1", None, 400, None),)),
)
_HOST = """\
[host]
cores = 2
clients = "here"
[volumes.data]
device = "device.toml"
[placement]
default = "data"
"""


def main() -> None:
    """Predict if asked, and say what is held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--postgres", type=Path)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    found = cells() if asked.write is None else predicted(asked.write, asked.postgres, asked.workers)
    print(report(found))


def report(found: tuple[TailCell, ...]) -> str:
    """Return what share of the cells the intervals of other experiments hold, with its 95 % interval by bootstrap."""
    inside = np.array(held(found))
    names = np.array([one.experiment for one in found])
    lines = [f"{len(found)} 99th percentiles, of which {SHARE:.0%} are to be held:"]
    own, counts = [], []
    for name in sorted(set(names)):
        own.append(int(inside[names == name].sum()))
        counts.append(int((names == name).sum()))
        lines.append(f"  {name}: {own[-1]} of {counts[-1]}")
    drawn = np.random.default_rng(_SEED).integers(len(own), size=(_DRAWS, len(own)))
    kept, all_of = np.array(own), np.array(counts)
    for text, share, shares in (
        ("all", kept.sum() / all_of.sum(), kept[drawn].sum(axis=1) / all_of[drawn].sum(axis=1)),
        ("each experiment of the same weight", (kept / all_of).mean(), (kept / all_of)[drawn].mean(axis=1)),
    ):
        low, high = np.quantile(shares, (0.025, 0.975))
        lines.append(f"{text}: {share:.1%} ({low:.0%} .. {high:.0%})")
    for text, waiting in (("waits", True), ("processors", False)):
        lines.append(f"{text}: within a factor of {np.exp(reach(found, waiting=waiting)):.3f}")
    return "\n".join(lines)


def predicted(path: Path, postgres: Path | None, workers: int) -> tuple[TailCell, ...]:
    """Predict all cells in so many processes, and write them to *path*; *postgres* is the folder of other benches."""
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name:
        matrix(Path(name))
        asked: dict[str, Callable[[], list[TailCell]]] = {
            f"{cell.load} of the matrix, {cell.name}": partial(_from_cell, cell.name, Path(name))
            for cell in cells_of(Path(name))
        }
        if postgres is not None:
            asked |= {row[0]: partial(_from_bench, postgres, *row) for row in _OTHERS}
        found = kept(asked, path.with_name(f"{path.name}.part"), workers)
    write(found, path)
    return found


def kept(asked: Mapping[str, Callable[[], list[TailCell]]], path: Path, workers: int) -> tuple[TailCell, ...]:
    """Return the cells of all sources; each source's are a line of *path* as soon as they are predicted, and those
    that stand there are not predicted again. A line that was cut off counts as none.
    """
    found: dict[str, list[TailCell]] = {}
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    for line in lines:
        if line.endswith("\n"):
            source, rows = json.loads(line)
            found[source] = [TailCell(*row) for row in rows]
    with ProcessPoolExecutor(workers) as pool, path.open("w", encoding="utf-8") as file:
        file.writelines(line for line in lines if line.endswith("\n"))
        begun = {pool.submit(predict): source for source, predict in asked.items() if source not in found}
        for done in as_completed(begun):
            found[begun[done]] = done.result()
            print(json.dumps([begun[done], [astuple(one) for one in done.result()]]), file=file, flush=True)
    return tuple(one for source in asked for one in found[source])


def write(found: Iterable[TailCell], path: Path) -> None:
    """Write a table of cells."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([field.name for field in fields(TailCell)])
        for one in sorted(found, key=lambda one: (one.experiment, one.source, one.target)):
            table.writerow([value if isinstance(value, str) else f"{value:.5g}" for value in astuple(one)])


def _from_cell(name: str, folder: Path) -> list[TailCell]:
    """Return what is predicted from a cell of the matrix in *folder* of the others of its load."""
    known = cells_of(folder)
    source = next(cell for cell in known if cell.name == name)
    recorded: dict[str, list[float]] = {}
    for path in sorted(folder.glob("*/result.json")):
        found = json.loads(path.read_text(encoding="utf-8"))["quantiles_ms"]["0.99"]
        recorded.setdefault(path.parent.name.rpartition("-")[0], []).append(found)
    results = results_of(source, others_of(source, known), ranges=False)
    return [
        cell
        for target, result in results.items()
        for cell in _cell(f"{source.load} of the matrix", name, target, result, float(np.mean(recorded[target])))
    ]


def _from_bench(
    folder: Path, experiment: str, recording: tuple[str, int | None], targets: Sequence[_Target]
) -> list[TailCell]:
    """Return what is predicted from a bench's recording in *folder*."""
    source, pool = recording
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name:
        work = Path(name)
        import_trace([folder / source], work / "recorded.trace")
        recorded_on = _scenario(work / "recorded", pool, None, None)
        scenarios = [_scenario(work / Path(target).name, *caps) for target, *caps in targets]
        results = replay_statements_all(
            Bundle(work / "recorded.trace"), [recorded_on, *scenarios], recorded_on=recorded_on, ranges=False
        )
    names = [source, *(target for target, *_ in targets)]
    return [
        cell
        for target, result in zip(names, results, strict=True)
        for cell in _cell(experiment, Path(source).name, Path(target).name, result, _recorded_ms(folder / target))
    ]


def _scenario(folder: Path, pool_mib: int | None, reads: int | None, writes: int | None) -> NamedScenario:
    folder.mkdir()
    text = capped_device(reads, writes, NS_PER_MS // 10, "0.1 to 0.2 ms")
    (folder / "device.toml").write_text(text, encoding="utf-8")
    pool = "" if pool_mib is None else f'[engine]\nbuffer_pool = "{pool_mib} MiB"\n'
    path = folder / "host.toml"
    path.write_text(_HOST + pool, encoding="utf-8")
    return load_scenario(str(path), ["replay.since_checkpoint=5 s"])


def _recorded_ms(folder: Path) -> float:
    """Return the 99th percentile that a bench printed, or that its log of transactions has."""
    result = folder / "result.json"
    if result.exists():
        return float(json.loads(result.read_text(encoding="utf-8"))["p99_ms"])
    lines = gzip.decompress((folder / "pgbench_txn_log.gz").read_bytes()).decode().splitlines()
    return float(np.quantile([int(line.split()[2]) for line in lines], 0.99)) / 1e3


def _cell(experiment: str, source: str, target: str, result: Result, recorded_ms: float) -> Iterator[TailCell]:
    """Yield what was predicted of a cell and recorded, where the run resolves it."""
    figures = result.summary["latency_ns"]["transaction"]
    p50_ns, p95_ns, p99_ns = (figures[name]["value"] for name in ("p50", "p95", "p99"))
    if p50_ns is not None and p95_ns is not None and p99_ns is not None:
        yield TailCell(
            experiment, source, target, p50_ns / NS_PER_MS, p99_ns / NS_PER_MS, recorded_ms, p95_ns / NS_PER_MS
        )


if __name__ == "__main__":
    main()
