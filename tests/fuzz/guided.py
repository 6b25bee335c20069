"""Lets libFuzzer look for files that reach more of a reader, or fault it (atheris, which ``make .venv/installed-fuzz``
installs; it has wheels for Linux alone).

    NUMBA_DISABLE_JIT=1 python -m tests.fuzz.guided --format msr --executions 100000 --seed 1 --found found/msr
    python -m tests.fuzz.grow --format msr --executions 0 found/msr/*

The first keeps what reaches more, files as they came; the second takes of them what is worth being damaged in every
run. Half of the changes are those of :mod:`tests.fuzz.damage`, which know the structure of files; the other half are
libFuzzer's own.
"""

import argparse
import os
import random
import sys
from contextlib import ExitStack
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["tiersim"]):
    from tests.fuzz.counts import Noted
    from tests.fuzz.executions import THROUGH, changed, limit_memory, reading
    from tests.fuzz.faults import Faults
    from tests.fuzz.targets import TARGETS

from tests.fuzz.corpus import corpus
from tests.fuzz.damage import Drawn, words_of

#: Longer files are not made: they are slower to read, and reach no more.
_LONGEST_BYTES = 1 << 15


def guided(key: str, executions: int, seed: int, counts: Path | None, found: Path, faults: Faults) -> None:
    """Read so many files of a format, changed from those in *found* and from the corpus. Ends the process."""
    files = corpus(key)
    found.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(files):
        (found / f"corpus-{number}").write_bytes(data)
    words = words_of(files)

    def mutate(data: bytes, most: int, drawn: int) -> bytes:
        chance = random.Random(drawn)
        if chance.randrange(2):
            return bytes(atheris.Mutate(data, most))
        return changed(key, data, Drawn(chance, chance.choice(files), words))[:most]

    noted = Noted(TARGETS[key].version(), key, seed, counts)
    stack = ExitStack()
    place = stack.enter_context(reading())
    place.execute(key, files[0], through=True)

    def execute(data: bytes) -> None:
        execution = place.execute(key, data, through=noted.executions % THROUGH == 0)
        noted.add(execution)
        faults.take(execution, seed)
        if noted.executions >= executions:
            noted.write()
            print(f"{key}: {noted.total}, seed {seed}, guided", file=sys.stderr, flush=True)
            stack.close()
            os._exit(faults.report())  # libFuzzer has no end that lets Python go on

    limits = ["-verbosity=0", "-timeout=0", "-rss_limit_mb=0"]  # those of run.py hold
    options = [f"-seed={seed}", f"-max_len={_LONGEST_BYTES}", *limits]
    atheris.Setup([sys.argv[0], *options, str(found)], execute, custom_mutator=mutate)
    atheris.Fuzz()


def main() -> None:
    """Run from the command line; the exit code is 1 when a fault was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description="Look for files with libFuzzer.")
    parser.add_argument("--format", required=True, choices=sorted(TARGETS))
    parser.add_argument("--executions", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--counts", type=Path, help="add what was done to this file, a JSON object a line")
    parser.add_argument("--found", type=Path, required=True, help="folder for files that reach more")
    parser.add_argument("--faults", type=Path, default=Path("faults"), help="folder for files with a fault")
    options = parser.parse_args()
    limit_memory()
    guided(options.format, options.executions, options.seed, options.counts, options.found, Faults(options.faults))


if __name__ == "__main__":
    main()
