"""The command line of :mod:`tests.fuzz`."""

import argparse
import faulthandler
import hashlib
import sys
from pathlib import Path

from tests.fuzz.counts import Noted
from tests.fuzz.run import fuzz, limit_memory
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
    found: dict[str, int] = {}
    for key in options.format or sorted(TARGETS):
        _run(key, options.executions, options.seed, options.counts, options.faults, found)
    for fault, count in sorted(found.items()):
        print(f"{count:,} × {fault}")
    return 1 if found else 0


def _run(key: str, executions: int, seed: int, counts: Path | None, faults: Path, found: dict[str, int]) -> None:
    noted = Noted(TARGETS[key].version(), key, seed, counts)
    for execution in fuzz([key], executions, seed):
        noted.add(execution)
        if not execution.fault:
            continue
        if execution.fault not in found:
            name = f"{key}-{hashlib.blake2b(execution.fault.encode(), digest_size=4).hexdigest()}"
            faults.mkdir(parents=True, exist_ok=True)
            (faults / name).write_bytes(execution.data)
            (faults / f"{name}.txt").write_text(f"{execution.fault}\n{execution.trace}", encoding="utf-8")
            print(f"{key}, seed {seed}, kept as {faults / name}: {execution.fault}", file=sys.stderr, flush=True)
        found[execution.fault] = found.get(execution.fault, 0) + 1
    noted.write()
    print(f"{key}: {noted.total}, seed {seed}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
