"""``describe`` counts VACUUM that ran during a recording apart from the statements."""

from pathlib import Path

import pytest

from tests.counted_bundles import synthesised
from tests.counted_databases import RELATIONS, counted_database, law
from tests.test_cli import Shell, shell  # noqa: F401 - a fixture
from tiersim.scenarios.statements.statement_load import read_load
from tiersim.traces.bundle import Bundle
from tiersim.traces.description import describe
from tiersim.traces.differences import read_counters

TABLE = next(name for name, found in RELATIONS.items() if found["kind"] == "table")
RUNS = {"autovacuums": 2, "vacuums": 1, "analyzes": 0, "autoanalyzes": 3, "rows_dead": 70}


def recorded(folder: Path, **worker: int) -> Path:
    more: dict[tuple[str, str], dict[str, int | str]] = {("relation", TABLE): {**RELATIONS[TABLE], **RUNS}}
    if worker:
        more["io", "autovacuum worker/relation/vacuum"] = dict(worker)
        more["io", "autovacuum worker/relation/normal"] = {"reads": 5, "writes": 0}
        more["io", "client backend/relation/vacuum"] = {"reads": 900, "writes": 900}
    return counted_database(folder, more=more)


def test_describe_counts_runs_and_pages_of_autovacuum(tmp_path: Path, shell: Shell) -> None:  # noqa: F811
    path = recorded(tmp_path / "v.trace", reads=100, writes=40)
    found = describe(Bundle(path))["counted"]["vacuum"]
    assert found == {"tables": [{"name": TABLE, **RUNS}], "pages_read": 105, "pages_written": 40}
    said = " ".join(shell("describe", "--all", path).out.split())
    assert "2 autovacuums, 1 vacuums, 3 autoanalyzes" in said
    assert "autovacuum read 105 pages and wrote 40" in said


def test_where_pages_were_not_counted_runs_are(tmp_path: Path) -> None:
    found = describe(Bundle(recorded(tmp_path / "v.trace")))["counted"]["vacuum"]
    assert (found["pages_read"], found["pages_written"]) == (None, None)


def test_nothing_is_said_where_nothing_ran(tmp_path: Path) -> None:
    assert describe(Bundle(counted_database(tmp_path / "v.trace")))["counted"]["vacuum"] is None


@pytest.mark.parametrize("ran", [True, False])
def test_a_replay_says_that_it_does_not_vacuum(ran: bool, tmp_path: Path) -> None:
    path = recorded(tmp_path / "v.trace") if ran else counted_database(tmp_path / "v.trace")
    load = read_load(read_counters(path), synthesised(path, 1), law())
    assert sum("tables were vacuumed 3 times" in said for said in load.inferred) == ran
