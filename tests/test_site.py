"""The site is built of the documents without a warning, and without a network."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.long
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "--quiet", "docs", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "first-prediction.html").read_text(encoding="utf-8")
    assert 'src="http' not in page
    assert 'rel="stylesheet" type="text/css" href="http' not in page


def test_every_page_has_its_place() -> None:
    """The table of contents names every document."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    named = {line.strip() for line in index.splitlines()}
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert pages - named == set()
