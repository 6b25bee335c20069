"""Where recorded data that the project does not ship may lie."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of recorded data beside the project; tests that need it are skipped where it is absent."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the recorded data beside the project is not there")
    return SHARED / "data"
