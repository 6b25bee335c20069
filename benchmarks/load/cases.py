"""What is measured: inputs of several sizes, and the commands that work on them one after the other."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: The program itself, and this folder's, as processes of their own.
TIERSIM = (sys.executable, "-c", "from tiersim.cli.main import main; main()")
MADE = (sys.executable, "-m", "benchmarks.load.made")
GENERATED = (sys.executable, "-m", "benchmarks.load.generated")

#: A step: its name and its command.
Step = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Case:
    """Steps at several *sizes*; *start* is a size that costs next to nothing by itself. ``made`` is the input that is
    written before, if any.
    """

    name: str
    unit: str
    start: int
    sizes: tuple[int, ...]
    steps: Callable[[int], Sequence[Step]]
    made: str = ""
    largest: int = 0  # a size that is measured on demand


def _tiersim(*arguments: str) -> tuple[str, ...]:
    return (*TIERSIM, *arguments)


def _requests(size: int) -> Sequence[Step]:
    return [("simulated", (*GENERATED, str(size)))]


def _bundle(_: int) -> Sequence[Step]:
    return [
        ("describe", _tiersim("describe", "requests.trace", "--json")),
        ("replay by the clock", _replayed("requests.trace", "replay.mode=open")),
    ]


def _replayed(trace: str, *settings: str, on: str = "pcie-flash") -> tuple[str, ...]:
    given = [part for setting in settings for part in ("--set", setting)]
    return _tiersim("replay", trace, "--on", on, *given, "--output", "out", "--force", "--json")


def _sweep(size: int) -> Sequence[Step]:
    rows = max(size // 100, 10) if size >= 100 else 2
    columns = size // rows
    axes = (f"replay.seed=1..{columns}+1", f"volumes.data.queue_depth=1..{rows}+1")
    given = [part for axis in axes for part in ("--set", axis)]
    run = _tiersim(
        "sweep", "requests.trace", "--on", "pcie-flash", *given, "--workers", "1", "-o", "s.sweep", "--force"
    )
    return [
        ("sweep", (*run, "--json")),
        ("page", _tiersim("report", "s.sweep", "-o", "page.html", "--force")),
    ]


def _pool(_: int) -> Sequence[Step]:
    return [("warm and run", _replayed("pool.toml", on="pool-scenario.toml"))]


def _files(_: int) -> Sequence[Step]:
    return [
        ("import", _tiersim("import", "files.log", "-o", "files.trace", "--force")),
        ("describe, with its page", _tiersim("describe", "files.trace", "-o", "page.html", "--force", "--json")),
        ("replay by the clock", _replayed("files.trace", "replay.mode=open", "replay.addresses=pack")),
        ("replay at twice the load", _replayed("files.trace", "replay.load=2", "replay.addresses=pack")),
    ]


def _sessions(_: int) -> Sequence[Step]:
    return [
        ("describe", _tiersim("describe", "sessions.trace", "--json")),
        ("replay, each waits for its own", _replayed("sessions.trace")),
        ("statements of described clients", _replayed("clients.toml", on="sessions-scenario.toml")),
    ]


def _queries(_: int) -> Sequence[Step]:
    return [
        ("import", _tiersim("import", "before", "after", "-o", "queries.trace", "--force")),
        ("describe, with its page", _tiersim("describe", "queries.trace", "-o", "page.html", "--force", "--json")),
        ("replay", _replayed("queries.trace", on="sessions-scenario.toml")),
        ("page", _tiersim("report", "out/sessions-scenario.result", "-o", "replayed.html", "--force")),
    ]


CASES = (
    Case("requests", "generated requests", 10_000, (10**6, 10**7, 10**8), _requests, largest=10**9),
    Case("bundle", "requests of a bundle", 10_000, (10**6, 4 * 10**6, 16 * 10**6), _bundle, "requests"),
    Case("sweep", "points", 4, (100, 1_000, 10_000), _sweep, "tiny"),
    Case("pool", "pages", 10_000, (10**6, 8 * 10**6, 64 * 10**6), _pool, "pool"),
    Case("files", "files", 10, (1_000, 10_000, 100_000), _files, "files"),
    Case("sessions", "sessions", 5, (500, 5_000, 50_000), _sessions, "sessions"),
    Case("queries", "queries", 20, (2_000, 20_000, 200_000), _queries, "queries"),
)
