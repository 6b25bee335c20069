"""Predict each measured cell from every other of its load, as a user would:
``python -m benchmarks.real_postgres.pairs OUT``.

OUT is what ``benchmarks.real_postgres.matrix`` measured; an empty folder, or none, gets what was measured and kept.
What was predicted is kept in OUT/pairs, a file for each source, until the model changes: ``--again``.
``tiersim validate pairs`` does the same with what was kept, and draws it. With ``--without`` a part of the counters is
left out, and what was predicted is kept in OUT/pairs-without-PART, with ``--ranges`` in OUT/pairs-ranges; with
``--recorded`` other cells of the same names are the recordings, shorter ones such as ``matrix --seconds`` measures.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.real_postgres.coverage import coverage_table
from benchmarks.real_postgres.less import LESS, lessened
from tiersim.errors import TiersimError
from tiersim.scenarios.validation.matrix_cells import Cell, cells_of
from tiersim.scenarios.validation.pair_figures import FAR, Pair, Predicted, pairs_of
from tiersim.scenarios.validation.pairs import others_of, predict
from tiersim.traces.samples import matrix

_SEED = 1
_HEADING = (
    "pairs",
    "off, median",
    "worst",
    f"within {FAR:.0%}",
    "unchanged",
    "scaled with the cap",
    "spread",
    "of recorded",
    "mean off",
    "misses off",
    "p95 off",
    "tails near",
    "held",
    "factor",
    "underdetermined",
    "calibrated",
)


def predict_others(
    kept: Path, source: Cell, targets: Sequence[Cell], again: bool, ranges: bool, missing: Sequence[str]
) -> str:
    """Predict from one cell what the folder *kept* does not have yet, and keep it there; returns what to say of it."""
    path = kept / f"{source.name}.json"
    known = json.loads(path.read_text()) if path.exists() and not again else {}
    asked = [target for target in targets if target.name not in known]
    if asked:
        with tempfile.TemporaryDirectory(prefix="tiersim-") as name:
            seen = replace(source, folder=lessened(source.folder, Path(name) / "cell", missing))
            try:
                found = predict(seen, asked, ranges=ranges)
            except TiersimError as error:
                return f"{source.name}: {error}"
        path.write_text(json.dumps(known | {name: asdict(said) for name, said in found.items()}))
    return f"{source.name}: predicted"


def predicted_of(kept: Path, cells: Sequence[Cell]) -> dict[tuple[str, str], Predicted]:
    """Return what is kept, by source and target."""
    paths = [(source.name, kept / f"{source.name}.json") for source in cells]
    return {
        (source, target): Predicted(**said)
        for source, path in paths
        if path.exists()
        for target, said in json.loads(path.read_text()).items()
    }


def table(pairs: Sequence[Pair], by: Sequence[str] = ("kinds", "pools")) -> list[str]:
    """Return lines of Markdown: a row for each block of pairs, and one for all."""
    blocks: dict[tuple[str, ...], list[Pair]] = {}
    for pair in pairs:
        blocks.setdefault(tuple(getattr(pair, key) for key in by), []).append(pair)
    heading = [*by, *_HEADING]
    lines = ["| " + " | ".join(heading) + " |", "|" + "---|" * len(by) + "--:|" * len(_HEADING)]
    rows = [*sorted(blocks.items()), (("all", *[""] * (len(by) - 1)), list(pairs))] if pairs else []
    for key, found in rows:
        worst = max((one.error for one in found), key=abs)
        near, tails = ([abs(one.error) <= FAR for one in found], [one.tail_is_near for one in found])
        cells = [
            *key,
            f"{len(found)}",
            _median(found, "error"),
            f"{worst:+.0%}",
            f"{np.mean(near):.0%}",
            _median(found, "unchanged"),
            _median(found, "scaled"),
            _median(found, "spread"),
            f"{median(one.source_spread for one in found):.1%}",
            _median(found, "mean"),
            _median(found, "misses"),
            _median(found, "p95"),
            f"{np.mean(tails):.0%}",
            f"{sum(one.held for one in found)}",
            f"{median(one.factor for one in found):.2f}",
            f"{sum(one.underdetermined for one in found)}",
            f"{sum(one.calibrated for one in found)}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _drawn(source: Cell, targets: Sequence[Cell], count: int | None) -> list[Cell]:
    """Return so many of the *targets* of a source, the same ones in every run."""
    if count is None or count >= len(targets):
        return list(targets)
    chosen = np.random.default_rng([_SEED, *source.name.encode()]).choice(len(targets), count, replace=False)
    return [targets[place] for place in sorted(chosen)]


def _median(pairs: Sequence[Pair], figure: str) -> str:
    return f"{median(abs(getattr(one, figure)) for one in pairs):.1%}"


def main() -> int:
    """Predict what is missing, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_postgres.pairs", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--load", action="append", help="of reads, updates, tpcb; all by default")
    parser.add_argument("--source", action="append", help="names of cells; all by default")
    parser.add_argument("--target", action="append", help="names of cells to predict; all by default")
    parser.add_argument("--drawn", type=int, help="of each source so many targets, drawn; all by default")
    parser.add_argument("--again", action="store_true", help="predict all anew")
    parser.add_argument("--ranges", action="store_true", help="also how far each may be off: ten times as long")
    parser.add_argument(
        "--without", action="append", choices=sorted(LESS), default=[], help="leave a part of the counters out"
    )
    parser.add_argument("--recorded", type=Path, help="a folder whose cells are the recordings, in place of OUT's")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    parts = ["pairs", "ranges"] if arguments.ranges else ["pairs"]
    parts += ["without", *arguments.without] if arguments.without else []
    parts += ["from", arguments.recorded.name] if arguments.recorded else []
    kept = arguments.out / "-".join(parts)
    kept.mkdir(parents=True, exist_ok=True)
    if not cells_of(arguments.out):
        matrix(arguments.out)
    cells = [cell for cell in cells_of(arguments.out) if not arguments.load or cell.load in arguments.load]
    recorded = cells if arguments.recorded is None else cells_of(arguments.recorded)
    names = {cell.name for cell in cells if not arguments.source or cell.name in arguments.source}
    sources = [cell for cell in recorded if cell.name in names]
    asked = [cell for cell in cells if not arguments.target or cell.name in arguments.target]
    with ProcessPoolExecutor(arguments.workers) as pool:
        for said in pool.map(
            predict_others,
            [kept] * len(sources),
            sources,
            [_drawn(source, others_of(source, asked), arguments.drawn) for source in sources],
            [arguments.again] * len(sources),
            [arguments.ranges] * len(sources),
            [arguments.without] * len(sources),
        ):
            print(said, flush=True)
    found = pairs_of(cells, predicted_of(kept, cells))
    print("\n".join([*table(found, ("load", "kinds", "pools")), "", *table(found)]))
    if arguments.ranges:
        print("\n".join(["", *coverage_table(found)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
