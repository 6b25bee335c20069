"""What docs/statistics.md says is so."""

import re

import pytest

from tests.marked import between
from tests.statistics_tables import DOCUMENT, TABLES
from tiersim.traces.readers.importing import SOURCES
from tiersim.traces.readers.postgres.snapshots import tables_of
from tiersim.traces.readers.postgres.views import VIEWS
from tiersim.traces.readers.views import view_among

TEXT = DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_are_those_of_the_code(name: str) -> None:
    """If they are not: ``python -m tests.statistics_tables``."""
    assert between(TEXT, name) == TABLES[name]()


def test_every_view_that_is_recorded_by_hand_is_known() -> None:
    lists = re.findall(r"^\\copy \(select (.*?) from (\w+)", TEXT, re.MULTILINE)
    assert len(lists) == 16
    for columns, view in lists:
        if columns != "*":
            names = [
                part.split()[-1].split(".")[-1].removesuffix("()")
                for part in re.sub(r"\(.*?\)", "()", columns).split(", ")
            ]
            heading = ",".join(name or "count" for name in names).replace("(*)", "")
            (table,) = tables_of(heading + "\n")
            assert view_among(VIEWS, table.columns) is not None, view


def test_every_source_is_listed() -> None:
    text = (DOCUMENT.parent / "formats.md").read_text(encoding="utf-8")
    section = text.partition("## Counters, statements and logs")[2].partition("\n## ")[0]
    assert [key for key in SOURCES if f"| `{key}` |" not in section] == []
