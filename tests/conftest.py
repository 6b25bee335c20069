"""Where recorded data that the project does not ship may lie; and that no test asserts how long an example takes."""

from pathlib import Path

import pytest
from hypothesis import settings

# From what is loaded already, such as by tests.same.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of recorded data beside the project; tests that need it are skipped where it is absent."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the recorded data beside the project is not there")
    return SHARED / "data"
