"""Where recorded data that the project does not ship may lie; how many examples a test draws that does not say; that
none asserts how long one takes; and that commands can be interrupted.
"""

import gc
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from tests.examples import examples
from tests.page_browser import browser, open_page, tabs  # noqa: F401 - fixtures

# From what is loaded already, such as by tests.same.
settings.register_profile("untimed", settings(), deadline=None, max_examples=examples(100))
settings.load_profile("untimed")

# What a shell starts in the background ignores SIGINT, and so do the commands that tests start and interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED = Path(__file__).resolve().parents[2] / "shared"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests begin first: the last ones that run together are short."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_collection_finish() -> None:
    """What was collected stays: the garbage collector, which took a tenth of the time, need not look at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of recorded data beside the project; tests that need it are skipped where it is absent."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the recorded data beside the project is not there")
    return SHARED / "data"
