"""The report: one scenario against another, checkpoints, state in the address, tables of numbers, paper."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.examples import first
from tests.page_browser import Open, drawn, numbers, reload, text, unfolded
from tests.page_large import large_result
from tests.page_samples import CARD, CHECKPOINT_S, DISKS, SPAN_NS, SSDS, TOO_FEW_DISKS, checked, sample, samples
from tests.page_statements import statement_sample
from tiersim.cli.page import build_page
from tiersim.cli.page.payload import page_payload, ratio
from tiersim.scenarios.caveats import model_error_of
from tiersim.simulator.result import Result


@pytest.fixture(scope="module")
def html() -> str:
    return build_page(samples(), "pgbench on four tiers")


def _figure(value: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "resolved": value is not None, "basis": "simulated"}


def _with_checkpoint(result: Result) -> Result:
    start, end = (int(second * 1e9) for second in CHECKPOINT_S)
    result.summary["checkpoints"] = [{"start_ns": start, "end_ns": end, "basis": "inferred from the trace"}]
    return result


# ---------------------------------------------------------------------------------------------------------- payload
def test_a_ratio_takes_the_ends_of_both_intervals() -> None:
    assert ratio(_figure(100, 80, 120), _figure(300, 240, 360)) == {"value": 3.0, "low": 2.0, "high": 4.5}
    assert ratio(100, _figure(300, 240, 360)) == {"value": 3.0, "low": 2.4, "high": 3.6}  # measured figures are exact


def test_a_ratio_of_what_is_not_resolved_has_only_bounds() -> None:
    assert ratio(_figure(None, 80, 120), _figure(300, 240, 360)) == {"value": None, "low": 2.0, "high": 4.5}
    assert ratio(_figure(None, 80, None), _figure(300, 240, 360)) == {"value": None, "low": None, "high": 4.5}
    assert ratio(_figure(None, None, None), _figure(300, 240, 360)) is None
    assert ratio(None, _figure(1, 1, 1)) is None


def test_a_saturated_scenario_is_in_no_ratio() -> None:
    payload = page_payload([sample(CARD), sample(TOO_FEW_DISKS)], "x")
    assert all(found == {} for found in payload["ratios"]["0:1"]["latency"].values())
    share = payload["ratios"]["r:1"]["throughput"]["data read"]["value"]  # of what was recorded
    assert share == pytest.approx(0.83, abs=0.01)
    assert payload["ratios"]["0:1"]["throughput"]["data read"]["value"] == pytest.approx(0.83, abs=0.01)
    assert payload["ratios"]["r:0"]["latency"]["data read"]["p99"]["value"] is not None


def test_throughput_is_held_against_what_was_recorded_at_any_load() -> None:
    """At twice the load, which doubles the log syncs that were found, and where sessions on slower storage ask for
    less, the recorded rates are the same.
    """
    plain, twice, slow = sample(CARD), sample(CARD), sample(CARD)
    twice.summary["replay"] = {"load": 2.0, "load_reached": 2.0}
    twice.summary["commands"] *= 2
    for result, syncs in ((plain, 100), (twice, 200), (slow, 100)):
        result.summary["measured_latency_ns"]["log sync"] = {"count": syncs, "mean": 1e6}
    columns = slow.timeline.column_names
    halved = [pc.divide(slow.timeline[name], 2) if name in ("arrivals", "completions") else slow.timeline[name]
              for name in columns]  # fmt: skip
    slow = replace(slow, timeline=pa.table(dict(zip(columns, halved, strict=True))))
    slow.summary["throughput_per_s"]["requests"]["value"] /= 2
    expected = page_payload([plain], "x")
    for result, share in ((twice, 1.0), (slow, 0.5)):
        payload = page_payload([result], "x")
        for key in ("recorded_per_s", "commands"):
            assert payload["traces"][0][key] == expected["traces"][0][key]
        found = payload["ratios"]["r:0"]["throughput"]["data read"]["value"]
        assert found == pytest.approx(share * expected["ratios"]["r:0"]["throughput"]["data read"]["value"], rel=0.01)


def test_of_statements_the_rate_of_transactions_was_recorded() -> None:
    result = statement_sample(CARD)
    result.summary["trace"]["transactions"] = 6000
    payload = page_payload([result], "x")
    assert payload["traces"][0]["recorded_per_s"] == {"transaction": 6000 / (SPAN_NS / 1e9)}
    assert list(payload["ratios"]["r:0"]["throughput"]) == ["transaction"]


def test_different_traces_are_not_compared() -> None:
    other = sample(CARD)
    other.summary["trace"] = {**other.summary["trace"], "hash": "another"}
    assert "0:1" not in page_payload([sample(CARD), other], "x")["ratios"]


def test_results_of_other_loads_are_not_compared() -> None:
    """Half the requests a second of twice the load is no slower storage."""
    twice = sample(DISKS)
    twice.summary["replay"] = {"load": 2.0}
    payload = page_payload([sample(CARD), sample(DISKS), twice], "x")
    assert set(payload["ratios"]) == {"0:1", "r:0", "r:1", "r:2"}
    assert set(payload["no_ratios"]) == {"0:2", "1:2"}
    assert "ran 2 times the recorded load and" in payload["no_ratios"]["0:2"]


def in_other_modes() -> list[Result]:
    results = [sample(CARD), sample(DISKS)]
    for result, mode in zip(results, ("open", "closed"), strict=True):
        result.summary["replay"] = {"mode": mode}
    return results


def test_an_open_and_a_closed_replay_are_not_compared() -> None:
    payload = page_payload(in_other_modes(), "x")
    assert set(payload["ratios"]) == {"r:0", "r:1"}
    assert "(closed) and pcie-p3700 requests at their recorded times (open), so" in payload["no_ratios"]["0:1"]
    assert page_payload([sample(CARD), sample(DISKS)], "x")["no_ratios"] == {}


def test_latency_inside_and_outside_of_checkpoints() -> None:
    result = _with_checkpoint(sample(DISKS))
    found = page_payload([result], "x")["scenarios"][0]["checkpoints"]
    assert found["spans_s"] == [list(CHECKPOINT_S)]
    rows = [row for row in result.timeline.to_pylist() if row["class"] == "data read" and row["arrivals"]]
    inside = [CHECKPOINT_S[0] <= (row["start_ns"] + row["end_ns"]) / 2e9 < CHECKPOINT_S[1] for row in rows]
    for where, chosen in (("inside", True), ("outside", False)):
        kept = [row for row, one in zip(rows, inside, strict=True) if one is chosen]
        mean_ns = sum(row["mean_ns"] * row["arrivals"] for row in kept) / sum(row["arrivals"] for row in kept)
        assert found["mean_us"]["data read"][where] == pytest.approx(mean_ns / 1e3)
    assert found["mean_us"]["checkpoint write"]["outside"] is None


def test_checkpoints_of_the_trace_will_do_and_none_are_none() -> None:
    result = sample(DISKS)
    assert page_payload([result], "x")["scenarios"][0]["checkpoints"] is None
    result.summary["trace"]["checkpoints"] = [{"start_ns": 0, "end_ns": 5, "basis": "inferred"}]
    assert page_payload([result], "x")["scenarios"][0]["checkpoints"]["spans_s"] == [[0.0, 5e-9]]


def test_what_is_made_of_other_requests_is_in_no_total() -> None:
    plain = sample(DISKS)
    rows = [row for row in plain.timeline.to_pylist() if row["class"] == "log write"]
    twice = [{**row, "class": "log sync"} for row in rows]
    table = pa.concat_tables([plain.timeline, pa.Table.from_pylist(twice, plain.timeline.schema)])
    scenarios = [page_payload([one], "x")["scenarios"][0] for one in (plain, replace(plain, timeline=table))]
    assert "log sync" in scenarios[1]["time"]["by_class"]
    assert scenarios[1]["time"]["outstanding"] == scenarios[0]["time"]["outstanding"]


def test_a_curve_says_where_it_is_resolved() -> None:
    result = sample(SSDS)
    figures = result.summary["latency_ns"]["data read"]
    figures["p95"] |= {"value": None, "resolved": False}
    curve = page_payload([result], "x")["scenarios"][0]["curves"]["data read"]
    rank, resolved = np.array(curve["rank"]), np.array(curve["resolved"])
    assert not resolved[(rank > 2) & (rank <= 20)].any()  # up to p95, which is not
    assert resolved[(rank > 20) & (rank <= 1000)].all()  # up to p99 and p99.9, which are
    assert resolved[-1]  # independent requests of a narrow distribution
    value = figures["p999"]["value"]
    figures["p999"] |= {"low": 0.8 * value, "high": 1.2 * value}  # they came in bursts, then
    curve = page_payload([result], "x")["scenarios"][0]["curves"]["data read"]
    assert curve["resolved"][-1] == 0
    figures["p999"] |= {"value": None, "resolved": False}
    curve = page_payload([result], "x")["scenarios"][0]["curves"]["data read"]
    assert not np.array(curve["resolved"])[np.array(curve["rank"]) > 100].any()


# ---------------------------------------------------------------------------------------------------------- browser
@pytest.mark.browser
def test_the_first_screen_answers_four_questions(html: str, read_page: Open) -> None:
    page = read_page(html)
    assert page.locator("#lead dt").all_inner_texts() == [
        "Which carries the load?", "How slow is it?", "What limits it?", "How sure is that?",
    ]  # fmt: skip
    said = text(page, "#lead")
    assert (
        "15k-raid10, sas-ssd-x4, and pcie-p3700 carry the recorded load."
        " 7k2-raid1 cannot carry the recorded load, in doubt." in said
    )  # 1.22 × 0.83 of the load is above 0.95
    assert "7k2-raid1 completes 17 % fewer requests/s than recorded." in said
    assert "15k-raid10: no part is full: the busiest, disk arm of data.drive-" in said
    assert "7k2-raid1: disk arm of data.drive-1 cannot keep up." in said
    assert "Not calibrated" in said
    card = text(page, ".card >> nth=0")
    (found,) = re.findall(r"([\d.]+)\s(?:µs|ms)\s*expected ([\d.]+)–([\d.]+)", card)[:1]
    big, low, high = map(float, found)
    assert low < big * model_error_of({"calibration": "none"})["figures"]["other"]["low"] * 1.001  # scatter is added
    assert high > big * model_error_of({"calibration": "none"})["figures"]["other"]["high"] * 0.999
    assert said.count("Expected error") == 1
    assert page.locator("#lead").bounding_box()["y"] + page.locator("#lead").bounding_box()["height"] < 500


@pytest.mark.browser
def test_how_sure_a_result_is_begins_with_its_calibration(open_page: Open) -> None:
    result = checked(statement_sample(DISKS))
    result.summary["verdict"]["calibration"] = "calibrated"
    page = open_page(build_page([result], "calibrated"))
    sure = page.locator("#lead div", has_text="How sure is that?").locator("dd .doubt")
    assert sure.first.inner_text().startswith("Calibration passed: ")
    assert sure.first.locator("svg").count() == 0  # no warning


def _left_open(rate: float, mean_ns: float) -> dict[str, object]:
    """What a recording leaves open that tells a figure to a factor of four."""
    return {
        "transactions_per_s": {"low": rate / 4, "high": 4 * rate},
        "transaction_mean_ns": {"low": mean_ns / 4, "high": 4 * mean_ns},
        "verdict": "underdetermined",
        "mostly": "the CPU cost of a read",
        "remedy": "record on the server itself",
    }


@pytest.mark.browser
def test_what_the_recording_leaves_open_is_in_the_expected_mean_of_transactions(open_page: Open) -> None:
    result = checked(statement_sample(DISKS))
    rate, mean = result.summary["throughput_per_s"]["transactions"], result.summary["latency_ns"]["transaction"]["mean"]
    result.summary["range"] = _left_open(rate["value"], mean["value"])
    card = text(open_page(build_page([result], "left open")), ".card")
    found = re.search(r"mean of transactions ([\d.]+)\s*ms\s*expected ([\d.]+)–([\d.]+)", card)
    assert found is not None
    value, low, high = map(float, found.groups())
    assert low == pytest.approx(value / 4, rel=0.05)
    assert high == pytest.approx(4 * value, rel=0.05)


@pytest.mark.browser
@pytest.mark.parametrize("verdict", ["underdetermined", "determined"])
def test_a_range_too_wide_to_decide_by_is_said_with_what_narrows_it(open_page: Open, verdict: str) -> None:
    result = checked(statement_sample(DISKS))
    result.summary["range"] = _left_open(1000, 1e6) | {"verdict": verdict}
    page = open_page(build_page([result], "left open"))
    said = (
        "15k-raid10: underdetermined: the range of transactions/s (250 – 4,000) is too wide to decide by, mostly"
        " because of the CPU cost of a read; record on the server itself."
    )
    assert (said in text(page, "#lead")) == (verdict == "underdetermined")
    assert ("expected 250–4,000, underdetermined" in text(page, ".card")) == (verdict == "underdetermined")


AGAINST_DISKS = "#scenario=sas-ssd-x4&compare=15k-raid10&purpose=data+read"


@pytest.mark.long
@pytest.mark.browser
def test_two_scenarios_side_by_side(html: str, read_page: Open) -> None:
    page = read_page(html, AGAINST_DISKS)
    pair = page_payload(samples(), "x")["ratios"]["0:1"]["latency"]  # sas-ssd-x4 ÷ 15k-raid10
    table = numbers(page, "ratios")[0]
    assert table[0] == ["Purpose", "Statistic", "X (µs)", "Y (µs)", "X ÷ Y", "low", "high"]
    for row in table[1:]:
        purpose = {"data reads": "data read", "log writes": "log write"}.get(row[0])
        key = {"p99.9": "p999"}.get(row[1], row[1])
        if purpose:
            assert [row[4], row[5], row[6]] == [
                "–" if pair[purpose][key][end] is None else f"{pair[purpose][key][end]:g}"
                for end in ("value", "low", "high")
            ]
    facts = text(page, "#pair-facts")
    assert "X: sas-ssd-x4 Y: 15k-raid10" in facts
    assert re.search(r"Busiest part die of data\.drive-\d: \d+ % busy disk arm of data\.drive-\d+: \d+ % busy", facts)
    marks = {name: xs for name, xs in ((t["name"], t["x"]) for t in drawn(page, "ratios")) if name == "p99"}
    assert pair["data read"]["p99"]["value"] in marks["p99"]
    assert "Mean of data reads: 0." in text(page, "#ratios-reading")
    assert len(drawn(page, "blame")) == 2


@pytest.mark.browser
def test_the_other_way_round_is_the_inverse(html: str, open_page: Open, read_page: Open) -> None:
    there = numbers(read_page(html, AGAINST_DISKS), "ratios")[0]
    back = numbers(open_page(html, "#scenario=15k-raid10&compare=sas-ssd-x4"), "ratios")[0]
    for a, b in zip(there[1:], back[1:], strict=True):
        if a[4] != "–":
            assert float(a[4]) * float(b[4]) == pytest.approx(1, rel=2e-3)
            assert float(a[5]) * float(b[6]) == pytest.approx(1, rel=2e-3)
            assert float(b[5]) <= float(b[4]) <= float(b[6])


@pytest.mark.long
@pytest.mark.browser
def test_a_scenario_against_what_was_recorded(html: str, open_page: Open) -> None:
    page = open_page(html, "#scenario=pcie-p3700&against=recorded")
    assert "Y: recorded hardware" in text(page, "#pair-facts")
    assert "not recorded" in text(page, "#pair-facts")
    row = next(row for row in numbers(page, "ratios")[0] if row[:2] == ["data reads", "p50"])
    assert float(row[3]) == pytest.approx(DISKS.typical_ms["data read"] * 1.1e3)
    assert float(row[4]) == pytest.approx(float(row[2]) / float(row[3]), rel=1e-3)
    unmeasured = open_page(build_page([sample(CARD, measured=False)], "x"))
    assert not unmeasured.locator("#pair").is_visible()


@pytest.mark.long
@pytest.mark.browser
def test_a_saturated_side_is_not_compared(html: str, open_page: Open) -> None:
    page = open_page(html, "#scenario=15k-raid10&compare=7k2-raid1")
    cells = set(page.locator("#pair-ratios td:not(:nth-child(2))").all_inner_texts())
    assert cells == {"saturated"}
    assert text(page, "#pair-ratios tbody tr:nth-child(3) td:nth-child(2)").startswith(
        "1.20 × 617/s against 514/s"
    )  # data reads completed
    assert "a saturated system has no steady latency" in text(page, "#ratios-reading")
    assert "Less than recorded < 0.1 % 17 %" in text(page, "#pair-facts").replace("0 % 17", "< 0.1 % 17")


@pytest.mark.long
@pytest.mark.browser
def test_what_cannot_be_compared_is_said_in_place_of_ratios(open_page: Open) -> None:
    page = open_page(build_page(in_other_modes(), "x"), "#scenario=15k-raid10&compare=pcie-p3700")
    assert set(page.locator("#pair-ratios td").all_inner_texts()) == {"not comparable"}
    assert "No ratios: 15k-raid10 ran requests as fast as sessions are answered" in text(page, "#pair-note")
    assert "not comparable" in text(page, "#ratios-reading")


@pytest.mark.long
@pytest.mark.browser
def test_choosing_the_other_one_changes_places(html: str, open_page: Open) -> None:
    page = open_page(html, "#scenario=15k-raid10&compare=sas-ssd-x4")
    page.locator("#scenario").select_option(label="sas-ssd-x4")
    assert text(page, "#pair-title") == "sas-ssd-x4 against 15k-raid10"


@pytest.mark.long
@pytest.mark.browser
def test_lag_and_shortfall_stand_beside_the_latency(open_page: Open) -> None:
    late = sample(DISKS)
    late.summary["verdict"]["load"] = "behind"
    late.summary["throughput_shortfall_pct"] = 6.4
    late.summary["lag_ns"] = {"mean": 3e6, "max": 1.2e9, "at_end": 4e5}
    page = open_page(build_page([late, sample(CARD)], "late"))
    row = text(page, "#comparison tbody tr >> nth=1")
    assert "Behind" in row
    assert "6 % fewer" in row
    assert "late start 3.00 ms on average" in row
    early = sample(DISKS)
    early.summary["lag_ns"] = {"mean": -2e6, "max": 1e6, "at_end": 0.0}
    assert "Late start" not in text(open_page(build_page([early], "early")), ".card")  # every session ends on time
    assert "Late start 3.00 ms on average" in text(page, ".card >> nth=0")
    assert "3.00 ms on average and 1.20 s at most not in the result" in text(page, "#pair-facts")
    assert "Throughput is 6.4 % below the recording. Requests start later than recorded: 3.00 ms" in text(
        page, "#requests-reading"
    )


@pytest.mark.browser
def test_checkpoints_are_shaded_and_told(open_page: Open) -> None:
    result = _with_checkpoint(sample(DISKS))
    page = open_page(build_page([result, sample(CARD)], "x"), "#purpose=data+read")
    for chart in ("latency-time", "requests", "outstanding", "blame"):
        shapes = page.eval_on_selector(f"#{chart}", "e => e.layout.shapes.map(s => [s.x0, s.x1])")
        assert shapes == [list(CHECKPOINT_S)], chart
        assert "checkpoint (inferred from the trace)" in text(page, f"figure:has(#{chart}) .legend")
    means = page_payload([result], "x")["scenarios"][0]["checkpoints"]["mean_us"]["data read"]
    said = text(page, "#latency-time-reading")
    assert f"Mean on {DISKS.name}: {means['inside'] / 1e3:.3g} ms during the checkpoint" in said
    assert f"checkpoint, {means['outside'] / 1e3:.3g} ms otherwise." in said
    assert "A checkpoint, shaded in the charts. inferred from the trace" in unfolded(page)


@pytest.mark.long
@pytest.mark.browser
def test_theme_and_zoom_survive_a_reload(html: str, open_page: Open) -> None:
    page = open_page(html)
    page.locator("#theme").click()
    page.evaluate("Plotly.relayout('latency-time', {'xaxis.range[0]': 40, 'xaxis.range[1]': 60})")
    page.locator("#compare").select_option(label="nothing")
    state = dict(part.split("=") for part in page.url.split("#")[1].split("&"))
    assert (state["theme"], state["range"], state["against"]) == ("dark", "40%7E60", "nothing")
    reload(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.eval_on_selector("#stations", "e => e._fullLayout.xaxis.range") == [40, 60]
    assert page.locator("#whole-run").is_visible()
    assert not page.locator("#pair").is_visible()
    page.locator("#whole-run").click()
    assert "range" not in page.url


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize(
    "fragment", first(2, "#range=9~3&theme=pink", "#compare=15k-raid10&scenario=15k-raid10", "#range=a~b", "#charts")
)
def test_a_broken_address_is_the_usual_view(html: str, open_page: Open, fragment: str) -> None:
    page = open_page(html, fragment)
    assert page.eval_on_selector("#latency-time", "e => e._fullLayout.xaxis.range") == [0, 120]
    assert text(page, "#pair-title") == "15k-raid10 against sas-ssd-x4"


@pytest.mark.browser
def test_tables_hold_the_numbers_of_their_charts(html: str, read_page: Open) -> None:
    page = read_page(html)
    payload = page_payload(samples(), "x")["scenarios"][0]
    table = numbers(page, "latency-time")[0]
    column = table[0].index("15k-raid10: p99 (µs)")
    by_start = dict(zip(payload["time"]["start_s"], payload["time"]["by_class"]["log write"]["p99_us"], strict=True))
    assert 60 <= len(table) - 1 <= 70  # every fourth of 240, and the peaks
    for row in table[1:]:
        assert float(row[column]) == by_start[float(row[0])]
    assert max(float(row[column]) for row in table[1:]) == max(by_start.values())
    curve = payload["curves"]["log write"]
    p99 = next(row for row in numbers(page, "percentiles")[1] if row[0] == "99")
    assert float(p99[1]) == next(us for rank, us in zip(curve["rank"], curve["us"], strict=True) if rank >= 100)
    outstanding = numbers(page, "outstanding")[0]
    assert float(outstanding[1][1]) == payload["time"]["outstanding"][0]
    assert drawn(page, "outstanding")[-1]["y"][0] == payload["time"]["outstanding"][0]
    stations = numbers(page, "stations")[1]
    assert [float(cell) for cell in stations[1][1:]] == [row["busy_pct"][0] for row in payload["stations"]["rows"]]
    requests = numbers(page, "requests")[0]
    time = payload["time"]
    arrived = dict(zip(time["start_s"], time["by_class"]["log write"]["arrivals"], strict=True))
    for row in requests[1:]:
        assert float(row[1]) == pytest.approx(arrived[float(row[0])] / time["end_s"][0], rel=1e-5)
    x = drawn(page, "outstanding")[-1]["x"]
    assert x[:2] == pytest.approx([x[0], 3 * x[0]])  # the middles of intervals
    blame = numbers(page, "blame")[0]
    assert float(blame[1][1]) == drawn(page, "blame")[0]["y"][0]


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "told"),
    [('=1+"2",x', '\'=1+"2",x'), ('"fast" disks', '"fast" disks')],  # a spreadsheet must not take a name for a formula
)
def test_a_table_is_copied_whole_as_csv(open_page: Open, name: str, told: str) -> None:
    result = sample(replace(DISKS, name=name))
    page = open_page(build_page([result], "x"))
    numbers(page, "outstanding")
    page.locator("#outstanding ~ details .copy").click()
    page.locator("#outstanding ~ details .copy", has_text="Copied").wait_for()
    rows = list(csv.reader(io.StringIO(page.evaluate("navigator.clipboard.readText()"))))
    assert rows[0] == ["From (s)", told]
    assert len(rows) == 241
    assert [float(row[1]) for row in rows[1:]] == page_payload([result], "x")["scenarios"][0]["time"]["outstanding"]


@pytest.mark.browser
def test_an_unresolved_tail_has_long_dashes(open_page: Open) -> None:
    result = sample(SSDS)
    result.summary["latency_ns"]["data read"]["p999"] |= {"value": None, "resolved": False}
    page = open_page(build_page([result], "x"), "#purpose=data+read")
    lines = page.eval_on_selector(
        "#percentiles", "e => e.data.filter(t => t.name === 'sas-ssd-x4').map(t => [t.line.dash, t.opacity, t.y])"
    )
    (dash, faint, tail), (_, _, strong) = lines
    assert dash == "longdash"
    assert faint < 0.6
    assert strong[-1] is None
    assert tail[-1] is not None
    assert "not resolved" in text(page, "figure:has(#percentiles) .legend")


@pytest.mark.browser
def test_the_narrow_comparison_is_stacked(html: str, read_page: Open) -> None:
    page = read_page(html, width=390)
    for table in ("#comparison", "#pair-ratios table", "#pair-facts table"):
        assert page.eval_on_selector(table, "e => e.scrollWidth <= e.parentElement.clientWidth"), table
    label = "e => getComputedStyle(e, '::before').content"
    assert page.locator("#comparison tbody tr >> nth=1 >> td >> nth=1").evaluate(label) == '"Log writes"'


@pytest.mark.browser
def test_a_pool_that_is_not_warmed_is_so_when_the_run_begins(open_page: Open) -> None:
    result = statement_sample(DISKS)
    result.summary["verdict"]["cache"] = "not warmed"
    said = unfolded(open_page(build_page([result], "x")))
    assert "The buffer pool is not warm when the run begins: it may answer less than in the long run." in said


@pytest.mark.browser
def test_caveats_caches_and_burst_credits_are_said(open_page: Open) -> None:
    cache = {
        "read_hit_ratio": 0.25, "read_hit_ratio_since_full": 0.5, "write_hit_ratio": 0.75, "used_bytes": 1 << 30,
        "dirty_bytes": 1 << 20, "promoted_bytes": 0, "written_back_bytes": 0, "filled_ns": 3_000_000_000,
    }  # fmt: skip
    emptied = {"station": "data", "resource": "credits", "start": 1.0, "end": 0.0, "ran_out_ns": 90_000_000_000,
               "lasts_ns": None}  # fmt: skip
    falling = {**emptied, "station": "log", "end": 0.98, "ran_out_ns": None, "lasts_ns": 7_200_000_000_000}
    base = sample(DISKS)
    stations = {**base.summary["stations"], "fast": {**next(iter(base.summary["stations"].values())), "cache": cache}}
    caveats = ["host has no effect here"]
    summary = {**base.summary, "stations": stations, "credits": [emptied, falling], "caveats": caveats}
    page = open_page(build_page([replace(base, summary=summary)], "t"))
    opened = page.locator("#known .fold[open] h3").all_inner_texts()
    assert "Simulated" in opened  # it holds a warning
    assert not any("Assumed" in title for title in opened)
    known = unfolded(page)
    assert "Host has no effect here" in known
    assert "Cache fast: 25 % of what is read comes from it, 50 % since it is full." in known
    assert "75 % of what is written meets a block that it holds. It holds 1 GiB (full after 3 s), 1 MiB of it" in known
    assert "Burst credits of data: 100 % of a full balance at the start, 0 % at the end; they run out after" in known
    assert "98 % at the end; under this load they last 2 h." in known


def test_what_is_known_names_its_sources(open_page: Open) -> None:
    result = sample(CARD)
    result.summary["replay"] = {
        "mode": "partly-open",
        "load": 2.0,
        "load_reached": 2.0,
        "commands": 1000,
        "sessions": 18,
        "inferred_sessions": 4,
        "late_sessions": 1,
        "waits_for_issuer": 600,
        "waits_for_clock": 300,
        "waits_for_foreground": 100,
        "think_mean_ns": 1.2e6,
        "think_p50_ns": 7e5,
        "writers": 1,
        "writer_names": ["postgres 12"],
        "journals": 0,
        "journal_names": [],
        "novelty": "yes",
        "pause_ns": {"mean": 1.2e6},
    }
    result.summary["synthesised"] = [{"what": "addresses", "value": "uniform", "source": "no offsets in the trace"}]
    page = open_page(build_page([result], "x"))
    unfolded(page)
    known = {
        node.locator("h3").inner_text(): " ".join(node.inner_text().split())
        for node in page.locator("#known > details").all()
    }
    assert list(known) == [
        "Measured",
        "Inferred from the recording",
        "Simulated",
        "Replay",
        "Assumed for pcie-p3700",
        "Scenario file as it was run",
    ]
    assert text(page, "#facts").endswith("; format: blktrace")
    recorded = "Sessions, order and think times are as recorded. trace pgbench, blktrace"
    assert recorded in known["Measured"]
    assert "Log writes were recognised by their file, which only ever grows." in known["Inferred from the recording"]
    assert "addresses: uniform no offsets in the trace" in known["Simulated"]
    for said in (
        "After a pause longer than replay.dependency_window (100 ms unless set), the next one starts at its recorded",
        "18 sessions, 4 of them inferred: the recording does not show which thread sent a request; 1 ends late.",
        "60 % of the requests start after earlier work of their session, 30 % at their recorded time. 10 % are",
        "Think time of sessions: mean 1.20 ms, median 700 µs.",
        "Background writers (inferred: no session waits for them): postgres (PID 12).",
        "2 times the recorded load, by cloning or leaving out sessions.",
        "Novelty: yes · Pause: mean: 1.20 ms",
    ):
        assert said in known["Replay"]
    assert "1 of 18 sessions ends late." in text(page, "#lead")
    assert "pcie-p3700 has 2 × the recorded load." in text(page, "#lead")
    assert all("Carries the load, 1 session ends late" in text(page, place) for place in (".card", "#comparison"))


@pytest.mark.browser
def test_a_load_is_called_as_it_ran(open_page: Open) -> None:
    results = [sample(CARD), sample(DISKS)]
    for result, reached in zip(results, (1.25, 1.2996), strict=True):  # of whole sessions, and of many
        result.summary["replay"] = {"mode": "partly-open", "load": 1.3, "load_reached": reached}
    said = text(open_page(build_page(results, "x")), "#lead").replace("\u00a0", " ")
    assert "has 1.25 × the recorded load." in said
    assert "has 1.30 × the recorded load." in said


@pytest.mark.browser
def test_tables_open_from_the_keyboard(html: str, open_page: Open) -> None:
    page = open_page(html)
    page.locator("#requests ~ details summary").focus()
    page.keyboard.press("Enter")
    page.locator("#requests ~ details tbody tr").first.wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Copy as CSV"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Download CSV"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Requests of")


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize("scheme", first(1, "dark", "light"))
def test_paper_is_light_with_open_tables(html: str, open_page: Open, tmp_path: Path, scheme: str) -> None:
    page = open_page(html, scheme=scheme)
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    opened = page.locator("details[open] > summary").all_inner_texts()
    page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
    pages = re.findall(rb"/Type\s*/Page[^s]", (tmp_path / "page.pdf").read_bytes())
    assert 5 <= len(pages) <= 16
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == before
    assert page.locator("details[open] > summary").all_inner_texts() == opened
    page.set_viewport_size({"width": 688, "height": 900})
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("details.numbers-of[open] tbody tr").count() > 50
    assert not page.locator(".controls").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    widths = page.eval_on_selector_all(
        ".plot .main-svg:first-child", "es => es.map(e => e.getBoundingClientRect().width)"
    )
    assert max(widths) - min(widths) < 1


def test_a_page_does_not_grow_with_the_number_of_requests(tmp_path: Path) -> None:
    (tmp_path / "few").mkdir()
    few = build_page([large_result(tmp_path / "few", 20_000, per_s=2000.0)], "x")
    many = build_page([large_result(tmp_path, 400_000, per_s=2000.0)], "x")
    assert len(many.encode()) < 6_000_000
    assert len(many) - len(few) < 40_000  # longer numbers, longer percentile curves
