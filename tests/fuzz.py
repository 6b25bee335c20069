"""Damages files of every kind that can be imported, and imports them: whatever comes, it ends soon, and in a sentence at worst.

    NUMBA_DISABLE_JIT=1 python -m tests.fuzz --executions 1000000 --seed 1

Samples are the files under tests/data that a reader takes, whole or in pieces, so a new reader is damaged as soon as it has one, and
small binary files that are made. ``--format`` damages those of one format alone.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from tests.sqlserver_files import smallest_files
from tiersim.errors import TraceError
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.readers.recorded_tables import write_recorded
from tiersim.traces.readers.sources import SOURCES, source_of

DATA = Path(__file__).parent / "data"
#: A longer sample is cut: damage is found in what comes first, and a million files have to be read.
LONGEST = 4096
#: An execution that takes more processor time hangs.
MOST_S = 5.0
#: One in so many is also written as a bundle would be.
WRITTEN = 100

_TOKENS = (
    *(
        b"",
        b"\0",
        b"\n",
        b"\r\n",
        b"\t",
        b",",
        b'"',
        b"'",
        b"|",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b"\\N",
        b"NaN",
        b"-Infinity",
    ),
    *(
        b"null",
        b"-1",
        b"0",
        b"1e999",
        b"99999999999999999999999999",
        b"0x7fffffff",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\x80",
    ),
    *(
        b"2026-02-30 25:61:61",
        b"1970-01-01 00:00:00+00",
        b"9999-12-31 23:59:59",
        b"LOG:  duration: ",
        b"(0 rows)\n",
        b" ms  plan:\n",
    ),
    *(
        b"-[ RECORD 1 ]-\n",
        b"----+----\n",
        b"\x1f\x8b",
        b"A" * 300,
        b"(" * 200,
        b"[" * 200,
        b'{"a":' * 100,
        b"12:00:01 AM",
    ),
)

#: What stands in texts of SQL Server's tools.
_SQLSERVER_TOKENS = (
    *(
        b"NULL",
        b"0x",
        b'""',
        b";",
        b"&#0;",
        b"&b;",
        b"<![CDATA[",
        b"]]>",
        b"<!--",
        b"<!DOCTYPE x>",
        b"<?xml?>",
        b" (3 rows affected)\n",
    ),
    *(
        b"<Event>",
        b"</Event>",
        b"<event ",
        b"</event>",
        b"</Column>",
        b"<Column ",
        b"<value>",
        b"<a>" * 80,
        b"----,----\n",
    ),
    *(
        b"18446744073709551615",
        b"-1",
        b"1,5",
        b"12/31/2026",
        b"2026-11-22T07:00:00.88+99:99",
        b"exec sp_executesql N'",
        b"sp_execute 1",
    ),
)


def samples() -> dict[str, list[bytes]]:
    """Return the beginnings of all sample files by the key of SOURCES that takes them."""
    found: dict[str, list[bytes]] = {}
    for path in sorted(path for path in DATA.rglob("*") if path.is_file()):
        key = source_of(path)
        if key is not None:
            found.setdefault(key, []).append(path.read_bytes()[:LONGEST])
    return found | smallest_files()


def damaged(sample: bytes, other: bytes, chance: random.Random) -> bytes:
    """Return *sample* with some damage in it: cut, doubled, overwritten, mixed with another."""
    data = bytearray(sample)
    for _ in range(chance.choice((1, 1, 2, 4, 8))):
        start = chance.randrange(len(data) + 1)
        end = min(start + chance.choice((0, 1, 1, 2, 8, 64, 512)), len(data))
        kind = chance.randrange(7)
        if kind == 0:
            data[start:end] = chance.choice(_TOKENS + _SQLSERVER_TOKENS)
        elif kind == 1:
            del data[start:end]
        elif kind == 2:
            data[start:start] = data[start:end] * chance.choice((1, 2, 10))
        elif kind == 3:
            data[start:end] = bytes(chance.randrange(256) for _ in range(end - start))
        elif kind == 4:
            data = data[:start]
        elif kind == 5:
            place = chance.randrange(len(other) + 1)
            data[start:end] = other[place : place + chance.choice((1, 16, 256))]
        elif end > start:
            data[start] = data[start] ^ (1 << chance.randrange(8))
    return bytes(data)


def execute(key: str, data: bytes, folder: Path, *, write: bool) -> None:
    """Read *data* as a file of *key*; anything but a TraceError is a fault of the reader."""
    path = folder / "recorded.txt"
    path.write_bytes(data)
    recorded = Recorded()
    try:
        with Opened(path) as source:
            SOURCES[key].read(path, source, recorded)
        SOURCES[key].finish(recorded)
        if write:
            bundle = folder / "bundle"
            bundle.mkdir(exist_ok=True)
            write_recorded(recorded, bundle, None)
        else:
            recorded.snapshots()
    except TraceError as error:
        if "\n" in str(error) or not str(error).startswith(str(path)):
            raise AssertionError(f"no sentence that names the file: {error}") from error


def _hangs(*_: object) -> NoReturn:
    raise AssertionError(f"took more than {MOST_S} s")


def fuzz(executions: int, seed: int, format: str | None = None) -> Iterator[tuple[int, str]]:
    """Read so many damaged files, of one *format* or of all, and yield how many were read and the key of the last.

    Raises whatever a reader raises that it must not, beside a file that holds what it was given.
    """
    signal.signal(signal.SIGPROF, _hangs)
    found = samples()
    chance = random.Random(seed)
    keys = sorted(found) if format is None else [format]
    scratch = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        folder = Path(name)
        for key in keys:  # whole files are read, and what has to be compiled for them takes longer than any damage may
            execute(key, found[key][0], folder, write=True)
        for number in range(executions):
            key = keys[number % len(keys)]
            sample, other = chance.choice(found[key]), chance.choice(found[chance.choice(keys)])
            data = damaged(sample, other, chance)
            signal.setitimer(signal.ITIMER_PROF, MOST_S)
            try:
                execute(key, data, folder, write=number % WRITTEN == 0)
            except Exception as error:
                kept = Path(tempfile.gettempdir()) / f"fuzz-{key}-{seed}-{number}"
                kept.write_bytes(data)
                raise AssertionError(f"{key}, execution {number} of seed {seed}, kept as {kept}: {error!r}") from error
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            yield number + 1, key


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executions", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=sorted(samples()))
    options = parser.parse_args()
    begun = time.perf_counter()
    for done, _ in fuzz(options.executions, options.seed, options.format):
        if done % 50_000 == 0:
            print(f"{done:,} executions in {time.perf_counter() - begun:,.0f} s", file=sys.stderr)
    found = {key: files for key, files in samples().items() if options.format in (None, key)}
    kinds = ", ".join(f"{key} ({len(files)})" for key, files in sorted(found.items()))
    print(f"{options.executions:,} damaged files read, seed {options.seed}: {kinds}")


if __name__ == "__main__":
    main()
