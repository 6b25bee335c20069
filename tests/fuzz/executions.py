"""Executions: a damaged file each, and what came of it."""

import random
import resource
import signal
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, NoReturn

from tests.fuzz.corpus import corpus
from tests.fuzz.damage import Drawn, damaged, words_of
from tests.fuzz.structure import CHANGED
from tests.fuzz.targets import TARGETS, refused

#: An execution that takes more processor time hangs.
MOST_S = 5.0
#: One that does not even come back from C to be told so ends the process: SIGVTALRM.
_LAST_S = 60.0
#: One that takes so much more memory than any before it, for so small a file, would take all of it for a large one.
MOST_BYTES = 256 << 20
#: And one that asks for more than this is stopped.
_MOST_ADDRESSES = 8 << 30
#: One in so many goes all the way through a bundle.
THROUGH = 100
#: One in so many is mixed with a file of another format.
_FOREIGN = 32


class Execution(NamedTuple):
    """One damaged file that was read: whether it was refused, and the fault that was found, empty if none was."""

    key: str
    data: bytes
    refused: bool
    fault: str
    trace: str = ""


class Reading:
    """A place in memory where files are read."""

    def __init__(self, folder: Path) -> None:
        """Read in *folder*, which must be empty."""
        self._folder = folder
        self._through = folder / "through"
        self._through.mkdir()
        self._paths: dict[str, Path] = {}

    def execute(self, key: str, data: bytes, *, through: bool) -> Execution:
        """Read a file of a format; whatever a reader raises that it must not, is a fault."""
        target = TARGETS[key]
        path = self._paths.get(key) or self._path(key)
        with open(path, "wb", buffering=0) as file:
            file.write(data)
        before = _most_memory()
        try:
            with _limited():
                was_refused = refused(target, path, self._through if through else None)
        except Exception as error:  # noqa: BLE001, whatever it is
            return Execution(key, data, True, _named(error), traceback.format_exc())
        more = _most_memory() - before
        fault = f"took {more >> 20} MiB" if more > MOST_BYTES else ""
        return Execution(key, data, was_refused, fault)

    def _path(self, key: str) -> Path:
        own = self._folder / key
        own.mkdir()
        self._paths[key] = own / TARGETS[key].file_name
        return self._paths[key]


@contextmanager
def reading() -> Iterator[Reading]:
    """Yield a place in memory, with limits on the time and the memory of each execution."""
    scratch = "/dev/shm" if Path("/dev/shm").is_dir() else None
    before = signal.signal(signal.SIGPROF, _hangs)
    try:
        with tempfile.TemporaryDirectory(dir=scratch, prefix="fuzz-") as name:
            yield Reading(Path(name))
    finally:
        signal.signal(signal.SIGPROF, before)


def fuzz(keys: Sequence[str], executions: int, seed: int) -> Iterator[Execution]:
    """Read so many damaged files of formats in turn, the same ones for the same seed."""
    chance = random.Random(f"{' '.join(keys)} {seed}")
    words = {key: words_of(corpus(key)) for key in keys}
    foreign = [data for key in TARGETS for data in corpus(key)]
    with reading() as place:
        for key in keys:  # what a reader makes once, such as code and tables, takes longer than damage may
            place.execute(key, corpus(key)[0], through=True)
        for number in range(executions):
            key = keys[number % len(keys)]
            known = corpus(key)
            other = chance.choice(known if chance.randrange(_FOREIGN) else foreign)
            drawn = Drawn(chance, other, words[key])
            data = changed(key, chance.choice(known), drawn)
            yield place.execute(key, data, through=number % THROUGH == 0)


def changed(key: str, data: bytes, drawn: Drawn) -> bytes:
    """Return *data* with damage that knows a format's structure, with any damage, or with both."""
    if key in CHANGED and drawn.chance.randrange(2):
        data = CHANGED[key](data, drawn)
        return damaged(data, drawn) if drawn.chance.randrange(2) else data
    return damaged(data, drawn)


def limit_memory() -> None:
    """Bound the memory of this process for good, so that a fault stops it and not the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_ADDRESSES, _MOST_ADDRESSES))


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@contextmanager
def _limited() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_PROF, MOST_S)
    signal.setitimer(signal.ITIMER_VIRTUAL, _LAST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _hangs(*_: object) -> NoReturn:
    raise AssertionError(f"took more than {MOST_S} s")


def _named(error: Exception) -> str:
    """Return a name for a fault: what was raised, and where in the project."""
    places = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "/tests/" not in frame.filename and "tiersim" in frame.filename
    ]
    where = f" in {Path(places[-1].filename).name}:{places[-1].lineno}" if places else ""
    return f"{type(error).__name__}{where}: {str(error).splitlines()[0][:120] if str(error) else ''}"
