"""Measure intervals of samples: ``python -m benchmarks.sample_intervals RECORDING...`` prints how often they hold the
figure of the whole.

Each recording is a trace bundle. A tenth of it is the sample, on 8 scenarios and under 3 loads. A recording is judged
by the factors of the others. --write puts the factors of all into scenarios/exploring/sample_error.toml. Half a second
for each pair of a recording and a change.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

from benchmarks.sample_intervals.factors import factors, lines
from benchmarks.sample_intervals.pairs import pairs_of

FACTORS = Path(__file__).parents[2] / "scenarios" / "exploring" / "sample_error.toml"


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sample_intervals", description=__doc__)
    parser.add_argument("recordings", nargs="+", type=Path, help="trace bundles")
    parser.add_argument("--write", action="store_true", help="write the factors down")
    arguments = parser.parse_args()
    pairs = [pair for recording in arguments.recordings for pair in pairs_of(recording)]
    for line in lines(pairs):
        print(line)
    if arguments.write:
        FACTORS.write_text(_document(factors(pairs), len(pairs), len(arguments.recordings)), encoding="utf-8")


def _document(found: Mapping[str, float], pairs: int, recordings: int) -> str:
    head = (
        "# Written by `python -m benchmarks.sample_intervals --write`, never by hand: how many times wider the interval"
        f" of a sample's figure is made, from {pairs} pairs of {recordings} recordings and a change.\n\n[factors]\n"
    )
    return head + "".join(f"{statistic} = {factor:.2f}\n" for statistic, factor in found.items())


if __name__ == "__main__":
    main()
