"""Where recorded data that the project does not ship may lie; how many examples a test draws that does not say; that
none asserts how long one takes; that a failure is named at once; and that commands can be interrupted.
"""

import gc
import os
import signal
import sys
import tomllib
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import settings

from tests.examples import examples
from tests.page_browser import browser, open_page, read_page, tabs  # noqa: F401 - fixtures

# From what is loaded already, such as by tests.same.
settings.register_profile("untimed", settings(), deadline=None, max_examples=examples(100))
settings.load_profile("untimed")

# What a shell starts in the background ignores SIGINT, and so do the commands that tests start and interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: How long tests take that take long; nearly all others take less than a second.
SECONDS: dict[str, float] = tomllib.loads((Path(__file__).parent / "seconds.toml").read_text(encoding="utf-8"))

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.hookimpl(trylast=True)  # when tests are left out and Hypothesis has marked its own
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Workers begin with equal parts of what is collected and take from each other then, the end of a part first. Each
    part begins with its share of the tests that may take long, the longest first and all shares alike, and the last
    ones that run together are short. Files with tests of pages stand together: one worker's browser opens nearly all of
    them.

    Those of a file may have a fixture that takes long, and stay together; rows of one test do not.
    """
    first: dict[str, list[pytest.Item]] = {}
    short = []
    for item in items:
        if item.get_closest_marker("long") or item.get_closest_marker("hypothesis"):
            first.setdefault(item.nodeid if hasattr(item, "callspec") else str(item.path), []).append(item)
        elif _name(item) in SECONDS:
            first[item.nodeid] = [item]
        else:
            short.append(item)
    pages = {item.path for item in items if item.get_closest_marker("browser")}
    short.sort(key=lambda item: item.path not in pages)
    parts = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    shares: list[list[pytest.Item]] = [[] for _ in range(parts)]
    taken = [0.0] * parts
    for seconds, group in sorted(((_seconds(group), group) for group in first.values()), key=lambda one: -one[0]):
        least = taken.index(min(taken))
        shares[least] += group
        taken[least] += seconds
    size, rest = len(items) // parts, iter(short)
    items[:] = [item for share in shares for item in (*share, *islice(rest, max(size - len(share), 0)))]
    items += rest


def _seconds(group: list[pytest.Item]) -> float:
    """How long tests take together, as far as it is known."""
    return sum(SECONDS.get(_name(item), 1.0) for item in group)


def _name(item: pytest.Item) -> str:
    return item.nodeid.removeprefix("tests/test_")


def pytest_collection_finish() -> None:
    """What was collected stays: the garbage collector, which took a tenth of the time, need not look at it again."""
    gc.collect()
    gc.freeze()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a test when it fails: all of them take an hour, and may be ended before."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\n{report.nodeid} failed", file=sys.__stderr__, flush=True)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of recorded data beside the project; tests that need it are skipped where it is absent."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the recorded data beside the project is not there")
    return SHARED / "data"
