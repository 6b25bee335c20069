"""What docs/statistics.md says is so."""

import pytest

from tests.marked import between
from tests.statistics_tables import DOCUMENT, TABLES
from tiersim.traces.readers.importing import SOURCES

TEXT = DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_are_those_of_the_code(name: str) -> None:
    """If they are not: ``python -m tests.statistics_tables``."""
    assert between(TEXT, name) == TABLES[name]()


def test_every_source_is_listed() -> None:
    text = (DOCUMENT.parent / "formats.md").read_text(encoding="utf-8")
    section = text.partition("## Counters, statements and logs")[2].partition("\n## ")[0]
    assert [key for key in SOURCES if f"| `{key}` |" not in section] == []
