"""The command line of :mod:`tests.fuzz`."""

import argparse
import faulthandler
import sys
from pathlib import Path

from tests.fuzz.counts import Noted
from tests.fuzz.executions import fuzz, limit_memory
from tests.fuzz.faults import Faults
from tests.fuzz.targets import TARGETS


def main() -> int:
    """Run from the command line; returns 1 when a fault was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Read damaged files.")
    parser.add_argument("--executions", type=int, default=1_000_000, help="of each format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", action="append", choices=sorted(TARGETS), help="one or more; all without it")
    parser.add_argument("--counts", type=Path, help="add what was done to this file, a JSON object a line")
    parser.add_argument(
        "--faults", type=Path, default=Path("faults"), help="folder for files that a fault was found with"
    )
    options = parser.parse_args()
    limit_memory()
    faulthandler.enable()  # of a crash nothing else would tell; the file is left in /dev/shm
    faults = Faults(options.faults)
    for key in options.format or sorted(TARGETS):
        noted = Noted(TARGETS[key].version(), key, options.seed, options.counts)
        for execution in fuzz([key], options.executions, options.seed):
            noted.add(execution)
            faults.take(execution, options.seed)
        noted.write()
        print(f"{key}: {noted.total}, seed {options.seed}", file=sys.stderr, flush=True)
    return faults.report()


if __name__ == "__main__":
    sys.exit(main())
