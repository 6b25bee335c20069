"""The report of results of statements: the log, the pool and checkpoints over time, and what
transactions felt of them.
"""

from dataclasses import replace
from typing import Any

import pytest

from tests.page_browser import Open, drawn, numbers, reload, text
from tests.page_samples import CARD, CHECKPOINT_S, DISKS, SPAN_NS, TOO_FEW_DISKS, sample
from tests.page_statements import SECOND_S, WRITTEN_S, statement_sample
from tiersim.cli import plots
from tiersim.cli.page import build_page
from tiersim.cli.page.payload import page_payload
from tiersim.cli.page.series import MOST_ROWS
from tiersim.simulator.categories import WAIT_NAMES
from tiersim.simulator.result import Result


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return [statement_sample(DISKS), statement_sample(CARD)]


@pytest.fixture(scope="module")
def html(results: list[Result]) -> str:
    return build_page(results, "two tiers")


def scenario(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = page_payload([result], "x")["scenarios"][0]
    return found


# ---------------------------------------------------------------------------------------------------------- payload
def test_checkpoints_are_spans_rows_and_an_impact(results: list[Result]) -> None:
    found = scenario(results[0])["checkpoints"]
    end_s = SPAN_NS / 1e9
    assert found["spans_s"] == [[*CHECKPOINT_S], [SECOND_S, end_s]]  # the second is under way when the run ends
    assert found["syncing_s"] == [[WRITTEN_S, CHECKPOINT_S[1]]]
    assert [row["trigger"] for row in found["rows"]] == ["time", "log"]
    assert found["impact"] == results[0].summary["checkpoint_impact"]
    inside, outside = found["mean_us"]["commit"].values()
    assert inside > 1.5 * outside


def test_a_checkpoint_that_begins_as_the_recording_ends_is_left_out(results: list[Result]) -> None:
    result = statement_sample(CARD)
    last = {**result.summary["checkpoints"][-1], "start_ns": SPAN_NS + 63_006, "write_ns": None, "end_ns": None}
    result.summary["checkpoints"].append(last)
    assert scenario(result)["checkpoints"]["rows"] == scenario(results[1])["checkpoints"]["rows"]


def test_very_many_checkpoints_are_cut(results: list[Result]) -> None:
    result = statement_sample(CARD)
    result.summary["checkpoints"] *= MOST_ROWS
    found = scenario(result)["checkpoints"]
    assert (len(found["rows"]), found["left_out"]) == (MOST_ROWS, MOST_ROWS)


def test_a_saturated_run_has_checkpoints_without_latency() -> None:
    found = scenario(statement_sample(TOO_FEW_DISKS))["checkpoints"]
    assert found["impact"] is None
    assert all(row["latency_ns"] == {} and row["dip_pct"] is None for row in found["rows"])


def test_the_database_over_time_keeps_its_sums(results: list[Result]) -> None:
    found, table = scenario(results[0])["database"], results[0].database
    assert table is not None
    widths = [end - start for start, end in zip(found["start_s"], found["end_s"], strict=True)]
    logged = sum(rate * width for rate, width in zip(found["log_bytes_per_s"], widths, strict=True))
    assert logged == pytest.approx(sum(table["log_bytes"].to_pylist()), rel=1e-4)
    assert max(found["dirty_pages"]) == max(table["dirty_pages"].to_pylist())
    assert scenario(replace(results[0], database=None))["database"] is None
    assert scenario(sample(CARD))["database"] is None


def test_flushes_of_the_log_behind_the_time_that_is_counted_are_in_no_rate(results: list[Result]) -> None:
    """A load that saturates is worked off after the recording's time, and its result counts flushes until then."""
    result, table = statement_sample(CARD), results[1].database
    assert table is not None
    result.summary["replay"]["counted_ns"] = {"from": 0, "until": SPAN_NS // 2}
    flushes = table["log_flushes"].to_numpy()[table["start_ns"].to_numpy() < SPAN_NS // 2].sum()
    assert scenario(result)["database"]["flushes_per_s"] == pytest.approx(flushes / (SPAN_NS / 2e9), rel=1e-4)


def test_a_warm_up_is_not_drawn(results: list[Result]) -> None:
    result = statement_sample(CARD)
    result.summary["replay"]["counted_ns"] = {"from": 30_000_000_000, "until": SPAN_NS}
    found = scenario(result)
    assert found["time"]["start_s"][0] == found["database"]["start_s"][0] == 30


def test_a_plot_draws_the_same(results: list[Result]) -> None:
    found = plots.database_over_time(results)
    assert [trace.name for trace in found.data] == ["15k-raid10"] * 4 + ["pcie-p3700"] * 4
    payload = scenario(results[1])
    assert list(found.data[5].y) == payload["time"]["by_class"]["commit"]["mean_us"]
    assert list(found.data[6].y) == payload["database"]["dirty_pages"]
    assert [(shape.x0, shape.x1) for shape in found.layout.shapes] == [CHECKPOINT_S, (SECOND_S, SPAN_NS / 1e9)]
    with pytest.raises(ValueError, match="replay a recording of statements"):
        plots.database_over_time(sample(CARD))


# ---------------------------------------------------------------------------------------------------------- browser
@pytest.mark.browser
def test_a_flush_of_one_commit_makes_one_commit_durable(open_page: Open) -> None:
    result = statement_sample(CARD)
    result.summary["log"]["commits_per_flush"] = 1.0
    said = text(open_page(build_page([result], "one client")), "#database-time-reading")
    assert "makes 1 commit durable." in said


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1240, "light"), (390, "dark")])
def test_the_database_is_drawn_with_its_checkpoints(
    html: str, read_page: Open, results: list[Result], width: int, scheme: str
) -> None:
    page = read_page(html, width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    table = results[0].database
    assert table is not None
    traces = drawn(page, "database-time")
    assert len(traces) == 8  # four rows of both scenarios
    pages = next(trace for trace in traces[4:] if trace["name"] == "15k-raid10")
    assert pages["y"] == table["dirty_pages"].to_pylist()
    shapes = page.eval_on_selector("#database-time", "e => e.layout.shapes.map(s => [s.x0, s.x1])")
    assert shapes == [[*CHECKPOINT_S], [SECOND_S, SPAN_NS / 1e9], [WRITTEN_S, CHECKPOINT_S[1]]]
    said = text(page, "#database-time-reading")
    assert "2 checkpoints run on 15k-raid10. Writing takes 27.5 s, syncing 1.50 s." in said
    assert "The last has not finished when the run ends." in said
    assert "Worst 5 s of a checkpoint: transactions/s 22 % below the mean of the run." in said
    assert "makes 2 commits durable. A commit that comes during a flush waits for the next one" in said
    flushes = sum(table["log_flushes"].to_pylist())
    per_s = flushes / (SPAN_NS / 1e9)
    assert f"WAL is written and flushed {per_s:,.0f} times a second. A flush, with its write, takes" in said
    busy = flushes * results[0].summary["log"]["sync_mean_ns"] / SPAN_NS
    assert busy > 1 or f"(a flush is under way {100 * busy:.2g} % of the time)" in said
    rows = numbers(page, "database-time")[0]
    assert rows[0][3] == "Dirty pages"
    assert float(rows[1][3]) == pages["y"][0]


@pytest.mark.browser
def test_the_chosen_scenario_and_its_zoom_are_drawn(html: str, open_page: Open) -> None:
    page = open_page(html, "#scenario=pcie-p3700&against=nothing&range=30~90")
    assert [trace["name"] for trace in drawn(page, "database-time")] == ["pcie-p3700"] * 4
    assert page.eval_on_selector("#database-time", "e => e.layout.xaxis.range") == [30, 90]


@pytest.mark.browser
def test_checkpoints_stand_in_tables(html: str, read_page: Open, results: list[Result]) -> None:
    page = read_page(html)
    rows = page.locator("#checkpoint-table tbody tr")
    assert rows.count() == 4
    first, second = (rows.nth(place).inner_text().split() for place in (0, 1))
    assert {"15k-raid10", "time", "41,000", "27.5", "1.5", "\u221222"} <= set(first)
    assert {"log", ">", "8", "not", "begun", "lower"} <= set(second)
    stalls = page.locator("#checkpoint-impact tbody tr").nth(1).locator("td").last.inner_text()
    assert " ".join(stalls.split()) == "2 longest 1.8 s, 97 % below the mean; in another run 0.4 to 6.3"
    impact = results[1].summary["checkpoint_impact"]
    cell = page.locator("#checkpoint-impact tbody tr").nth(1).locator("td").nth(4).inner_text().split()
    assert float(cell[0]) == pytest.approx(impact["inside"]["latency_ns"]["commit"]["mean"] / 1e3, rel=0.01)
    assert float(cell[3]) == pytest.approx(impact["outside"]["latency_ns"]["commit"]["mean"] / 1e3, rel=0.01)
    assert "Checkpoints 2; transactions/s fall by 22 % at most" in text(page, ".card >> nth=0")


@pytest.mark.long
@pytest.mark.browser
def test_many_checkpoints_are_folded(open_page: Open) -> None:
    result = statement_sample(CARD)
    result.summary["checkpoints"] = result.summary["checkpoints"] * 10
    page = open_page(build_page([result], "x"))
    assert page.locator("#checkpoint-table tbody tr").count() == 12
    page.locator("#checkpoint-more").click()
    assert page.locator("#checkpoint-table tbody tr").count() == 20
    assert not page.locator("#checkpoint-more").is_visible()


@pytest.mark.long
@pytest.mark.browser
def test_commits_stand_beside_the_queries(html: str, open_page: Open, results: list[Result]) -> None:
    page = open_page(html)
    page.locator("#query-table .query", has_text="Commits").click()
    assert "query=commits" in page.url
    parts = {trace["name"]: trace["x"] for trace in drawn(page, "spent")}
    assert parts[WAIT_NAMES["log"]][0] == pytest.approx(
        results[0].summary["commit_breakdown_ns"]["log"] / 1e6, rel=1e-4
    )
    row = page.locator("#query-table tr.selected").inner_text().split()
    mean = results[0].summary["latency_ns"]["commit"]["mean"]["value"] / 1e6
    assert f"{mean:.2f}" in row
    reload(page)
    assert page.locator("#query-text h3").inner_text() == "Commits"
    page.locator("#query-text button").click()
    assert page.locator("#query-text h3").inner_text() == "Whole transactions"


@pytest.mark.long
@pytest.mark.browser
def test_without_checkpoints_or_a_database_less_is_shown(open_page: Open) -> None:
    quiet = statement_sample(CARD)
    quiet.summary.update(checkpoints=[], checkpoint_impact=None)
    page = open_page(build_page([quiet], "x"))
    assert page.locator("#database").is_visible()
    assert not page.locator("#checkpoints").is_visible()
    assert "No checkpoint runs on pcie-p3700 in this time." in text(page, "#database-time-reading")
    assert "Checkpoints none" in text(page, ".card >> nth=0")
    quiet.summary["log"]["commits"] = 0
    reads = open_page(build_page([quiet], "x"))
    assert not reads.locator("#database").is_visible()
    assert "Checkpoints" not in text(reads, ".card >> nth=0")
    requests = open_page(build_page([sample(CARD)], "x"))
    assert not requests.locator("#database").is_visible()
