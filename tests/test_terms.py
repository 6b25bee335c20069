"""What an expert searches for is found: each term of the field in the glossary, in another document, and in the
docstring of a module where the thing is done.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.documents import DOCS, PAGES

ROOT = Path(__file__).parents[1]
#: Each term, and the folder with the module that does it.
TERMS = {
    "access distribution": "scenarios",
    "buffer pool": "simulator",
    "burst credits": "devices",
    "checkpoint": "simulator",
    "closed loop": "scenarios",
    "destage": "devices",
    "doublewrite": "simulator",
    "eviction": "simulator",
    "flash translation layer": "devices",
    "full-page image": "simulator",
    "garbage collection": "devices",
    "group commit": "simulator",
    "hit ratio": "simulator",
    "LSN": "simulator",
    "non-HOT update": "simulator",
    "open loop": "scenarios",
    "over-provisioning": "devices",
    "page cache": "simulator",
    "queue depth": "devices",
    "read-ahead": "devices",
    "read-modify-write": "devices",
    "row lock": "simulator",
    "stripe lock": "devices",
    "stripe unit": "devices",
    "think time": "scenarios",
    "token bucket": "devices",
    "transaction log": "simulator",
    "usage count": "simulator",
    "wait class": "simulator",
    "WAL": "simulator",
    "working set": "traces",
    "write amplification": "devices",
    "write-back": "devices",
}


def _has(text: str, term: str) -> bool:
    """Whether *text* has the term as a word, in capitals as it is written; blanks may be ends of lines."""
    words = r"\s+".join(map(re.escape, term.split()))
    return re.search(rf"\b{words}", text, 0 if term.isupper() else re.IGNORECASE) is not None


@cache
def _docstrings(folder: str) -> list[str]:
    """Return the docstrings of all modules in *folder*."""
    paths = (ROOT / folder).rglob("*.py")
    return [ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "" for path in paths]


@pytest.mark.parametrize("term", TERMS)
def test_a_term_has_its_row_in_the_glossary_and_is_used_elsewhere(term: str) -> None:
    rows = [line.split("|") for line in (DOCS / "glossary.md").read_text(encoding="utf-8").splitlines() if "|" in line]
    (row,) = [cells for cells in rows if _has(cells[1], term) and cells[1].strip().startswith(term.split("-")[0])]
    assert row[2].strip().endswith(".")
    for place in re.findall(r"`([\w/.]+)`", row[3]):
        assert (ROOT / place).exists(), place
    others = (path for path in DOCS.glob("*.md") if path.name not in {"glossary.md", *PAGES})
    assert any(_has(path.read_text(encoding="utf-8"), term) for path in others)


@pytest.mark.long
@pytest.mark.parametrize(("term", "folder"), TERMS.items())
def test_a_term_is_found_in_the_docstring_of_the_module_that_does_it(term: str, folder: str) -> None:
    assert any(_has(doc, term) for doc in _docstrings(folder))
