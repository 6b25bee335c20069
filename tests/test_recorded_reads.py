"""What a recording leaves out, or lost, is said in results: pages that no law covers leave their error unknown."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.counted_bundles import synthesised
from tests.counted_databases import counted_database, law
from tiersim.cli import verdicts
from tiersim.errors import TraceError
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.miss_ratios import Sampling, miss_ratios
from tiersim.scenarios.statements.error_reasons import other_reads
from tiersim.scenarios.statements.loads import load_of, read_load
from tiersim.scenarios.statements.replay import replay_statements
from tiersim.traces.bundle import Bundle
from tiersim.traces.differences import read_counters
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import reads

Row = dict[str, str]
#: Of the one table of the recording: 9,999,844 rows on 163,935 pages, read by 462,253 lookups.
_LIVE = "9999844"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reads(tmp_path_factory.mktemp("reads")) / "counters"


def bundle(recorded: Path, folder: Path, **views: Callable[[Row, bool], None]) -> Path:
    """Import a recording some of whose *views* are changed row by row; the change hears whether it is the later one."""
    changed = folder / "counters"
    changed.mkdir()
    for path in recorded.iterdir():
        view, _, when = path.stem.partition(".")
        text = path.read_text()
        if view in views and path.suffix == ".csv":
            table = csv.DictReader(io.StringIO(text))
            rows = list(table)
            for row in rows:
                views[view](row, when == "after")
            out = io.StringIO()
            writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            text = out.getvalue()
        (changed / path.name).write_text(text)
    target = folder / "changed.trace"
    import_trace([changed], target)
    return target


def never_analyzed(row: Row, _: bool) -> None:
    row.update(reltuples="-1", relpages="0")


def from_toast(row: Row, later: bool) -> None:
    """Let 60,000 of the heap's misses be those of TOAST."""
    if row["relname"] == "pgbench_accounts":
        moved = 60_000 if later else 0
        row.update(heap_blks_read=str(int(row["heap_blks_read"]) - moved), toast_blks_read=str(moved))


def test_a_recording_whose_pages_are_all_covered_says_nothing(recorded: Path, tmp_path: Path) -> None:
    assert other_reads(load_of(bundle(recorded, tmp_path), 1)) is None


def test_pages_of_toast_are_said_to_be_left_out_and_the_error_is_unknown(recorded: Path, tmp_path: Path) -> None:
    path = bundle(recorded, tmp_path, pg_statio_user_tables=from_toast)
    summary = replay_statements(load_of(path, 1), load_scenario("pcie-flash")).summary

    assert summary["verdict"]["error"] == "reads"
    assert summary["model_error"] == {"basis": "unknown", "figures": {}}
    said = verdicts.sentence(summary)
    assert said is not None
    assert "statements read 223,472 pages in the recording, and 73% of that in the model" in said
    assert "60,000 pages of TOAST of public.pgbench_accounts" in said
    assert "in doubt" in verdicts.carries(summary)


def test_a_curve_that_misses_other_pages_than_were_read_is_not_known(recorded: Path, tmp_path: Path) -> None:
    """At the very size that was recorded it had 73 % of the misses, to four digits."""
    path = bundle(recorded, tmp_path, pg_statio_user_tables=from_toast)
    with pytest.raises(TraceError, match=r"its miss-ratio curve is not known: .* 73% of that in the model .*TOAST"):
        miss_ratios(Bundle(path), Sampling())


@pytest.mark.parametrize(("engine", "said"), [("mysql", True), ("mariadb", True), ("sqlserver", False)])
def test_pages_that_scans_of_innodb_read_ahead_are_none_that_statements_missed(
    engine: str, said: bool, tmp_path: Path
) -> None:
    """A million pages came by read-ahead, 60 by lookups, and a run reads the latter; SQL Server's are in its reads."""
    ahead: dict[tuple[str, str], dict[str, int | str]] = {("database", "*"): {"pages_read_ahead": 10**6}}
    path = counted_database(tmp_path / "a.trace", host={"engine": engine}, more=ahead)
    found = other_reads(read_load(read_counters(path), synthesised(path, 1), law()))
    assert (found is not None and "statements read 1,000,060 pages in the recording" in found) == said
    assert (found is not None and "1,000,000 pages of scans that read ahead" in found) == said


def test_a_table_that_nobody_analyzed_has_its_live_rows_and_the_pages_of_its_file(
    recorded: Path, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("analyzed", "not")]
    for folder in folders:
        folder.mkdir()
    live = "schemaname,relname,seq_scan,n_live_tup\npublic,pgbench_accounts,0," + _LIVE + "\n"
    (recorded / "pg_stat_user_tables.after.csv").write_text(live)
    analyzed = load_of(bundle(recorded, folders[0]), 1)
    not_analyzed = load_of(bundle(recorded, folders[1], pg_class=never_analyzed), 1)
    (recorded / "pg_stat_user_tables.after.csv").unlink()

    [one], [other] = analyzed.fitted.tables, not_analyzed.fitted.tables
    assert other.rows == int(_LIVE)
    assert other.heap_pages == pytest.approx(one.heap_pages, rel=0.02)
    assert other.index_pages == pytest.approx(one.index_pages, rel=0.02)
    assert other.heap_missed == one.heap_missed
    assert other_reads(not_analyzed) is None
    assert any("nobody analyzed them" in said for said in not_analyzed.inferred)


def counted_anew(row: Row, later: bool) -> None:
    if not later:
        row["calls"] = str(int(row["calls"]) + 1_000_000)


def without_fsync(row: Row, _: bool) -> None:
    if row["name"] == "application_name":  # the recording kept other settings
        row.update(name="fsync", setting="off")


def test_a_result_says_that_counters_were_reset_and_that_fsync_was_off(recorded: Path, tmp_path: Path) -> None:
    path = bundle(recorded, tmp_path, pg_stat_statements=counted_anew, pg_settings=without_fsync)
    said = "\n".join(replay_statements(load_of(path, 1), load_scenario("pcie-flash")).summary["caveats"])

    assert "the counters of query" in said
    assert "so their rates are too low" in said
    assert "fsync was off when it was recorded, and is on here" in said
