"""Sums up what ``python -m tests.fuzz --counts FILE`` noted: ``python -m tests.fuzz.table FILE...`` prints a table in
Markdown.
"""

import argparse
from pathlib import Path

from tests.fuzz.counts import Count, Summed, summed
from tests.fuzz.targets import TARGETS


def row(key: str, found: Summed) -> str:
    """Return the row of a format: of its executions, those that the reader as it is now has read are told apart."""
    target = TARGETS[key.split(" ")[0]]
    now = found.by_version.get(target.version(), Count())
    cells = (
        f"`{key}`",
        f"{found.all.executions:,}",
        f"{now.executions:,}",
        ", ".join(map(str, sorted(found.seeds))),
        f"{found.all.refused / max(found.all.executions, 1):.0%}",
        f"{found.all.executions / max(found.all.cpu_s, 1e-9):,.0f}",
        str(now.faults),
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.table", description="Sum up counts of executions.")
    parser.add_argument("counts", type=Path, nargs="+")
    sums = summed(parser.parse_args().counts)
    print("| Format | Executions | of the reader as it is | Seeds | Refused | Executions/s | Faults left |")
    print("|---|---|---|---|---|---|---|")
    for key in sorted(sums):
        print(row(key, sums[key]))
    total = sum(found.all.executions for found in sums.values())
    now = sum(
        found.by_version.get(TARGETS[key.split(" ")[0]].version(), Count()).executions for key, found in sums.items()
    )
    print(f"| all | {total:,} | {now:,} | | | | |")


if __name__ == "__main__":
    main()
