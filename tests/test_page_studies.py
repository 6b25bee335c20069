"""The page of sweeps, miss-ratio curves, load curves and searches: what is chosen moves every chart to the numbers of
the files.
"""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.examples import first
from tests.page_browser import Open, Tabs, drawn, numbers, text
from tests.page_samples import CARD, DISKS, sample
from tests.page_statements import HOSTILE_TEXTS, MIB
from tests.page_studies import (
    DEVICES,
    LOADS,
    POOLS,
    load_document,
    miss_ratio_document,
    pack_document,
    row,
    size_document,
    size_text,
    summary_of,
    write_all,
    write_document,
    write_sweep,
)
from tiersim.cli.page import Inputs, build_page, open_inputs
from tiersim.cli.page.studies import study_payload
from tiersim.cli.page.study_models import RowModel
from tiersim.cli.page.study_points import point_of
from tiersim.cli.queries import MOST_TEXT
from tiersim.errors import TraceError
from tiersim.scenarios.sizing.load_limit import SPENT


def page_of(paths: list[Path]) -> str:
    found = open_inputs(paths)
    return build_page(found.results, "what if", found.studies)


def payload_of(html: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert match
    payload: dict[str, Any] = json.loads(match[1])
    return payload


def rows_of(sweep: Path) -> dict[tuple[str, ...], dict[str, Any]]:
    """Rows of a sweep by the texts of their settings; in place of one that was screened the one that gives the same."""
    rows = [json.loads(file.read_text()) for file in sorted((sweep / "points").iterdir())]
    return {
        tuple(one["settings"].values()): rows[one["screened"]["by_point"]] if one["status"] == "screened" else one
        for one in rows
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_all(tmp_path_factory.mktemp("studies"))


@pytest.fixture(scope="module")
def html(files: list[Path]) -> str:
    return page_of(files)


# ---------------------------------------------------------------------------------------------------------- files
def test_files_are_told_apart_by_their_schema(files: list[Path]) -> None:
    found = open_inputs(list(reversed(files)))
    assert [
        len(some)
        for some in (
            found.studies.sweeps,
            found.studies.mrcs,
            found.studies.loads,
            found.studies.sizes,
            found.studies.packs,
        )
    ] == [1] * 5
    assert found.studies.trace_name == "shop"
    assert not found.results


def test_nothing_is_no_page() -> None:
    with pytest.raises(ValueError, match="at least one"):
        build_page([], "x", Inputs().studies)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is not JSON or damaged"),
        ("[1]", "is not a JSON object but list"),
        ('{"schema": "tiersim.other/1"}', "its schema is 'tiersim.other/1'"),
        ('{"schema": 3}', "its schema is 3"),
        ('{"schema": "tiersim.mrc/1"}', "points: field required"),
        (
            '{"schema": "tiersim.mrc/1", "points": [{"cache_bytes": 1, "miss_ratio": 2}]}',
            "points.0.miss_ratio: input should be less",
        ),
        ('{"schema": "tiersim.load/1", "points": [{"status": "gone"}]}', "points.0.status"),
        ('{"schema": "tiersim.size/1", "candidates": [{"name": 3}]}', "candidates.0.name"),
        ("[" * 100_000, "is not JSON or damaged"),
    ],
)
def test_a_damaged_file_is_named_in_a_sentence(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "x.mrc.json"
    file.write_text(content)
    with pytest.raises(TraceError, match=re.escape(said)) as error:
        open_inputs([file])
    assert str(error.value).startswith(str(file))
    assert "\n" not in str(error.value)


def test_what_is_not_there_and_what_is_no_bundle_is_said(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file"):
        open_inputs([tmp_path / "absent.mrc.json"])
    (tmp_path / "empty.sweep").mkdir()
    with pytest.raises(TraceError, match="is not a result bundle"):
        open_inputs([tmp_path / "empty.sweep"])


def test_a_point_that_is_not_on_the_grid_is_refused(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path, pools=POOLS[:1], loads=(1.0,))
    file = sweep / "points" / "000000.json"
    one = json.loads(file.read_text())
    file.write_text(json.dumps({**one, "settings": {**one["settings"], "replay.load": "9"}}))
    with pytest.raises(TraceError, match=r"its replay.load is '9', which is not on the axis"):
        open_inputs([sweep])
    file.write_text(json.dumps({**one, "summary": {}}))
    with pytest.raises(TraceError, match="is 'done' without a summary"):
        open_inputs([sweep])


def test_a_half_done_sweep_is_a_page(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path, pools=POOLS[:2], loads=(1.0, 2.0))
    for file in sorted((sweep / "points").iterdir())[3:]:
        file.unlink()
    assert len(payload_of(page_of([sweep]))["studies"]["sweeps"][0]["points"]) == 3


def test_the_same_files_give_the_same_bytes(files: list[Path], html: str) -> None:
    assert page_of(files) == html


# --------------------------------------------------------------------------------------------------------- payload
def test_replications_are_one_point_whose_interval_holds_all_of_theirs() -> None:
    summaries = [summary_of(CARD, 64 * MIB), summary_of(DISKS, 64 * MIB)]
    rows = [RowModel.model_validate(row(0, {}, summary, number)) for number, summary in enumerate(summaries)]
    point = point_of(rows, {}, ["cpu"])
    figures = [summary["latency_ns"]["transaction"]["p99"] for summary in summaries]
    value, low, high = point["latency"]["transaction"]["ns"]["p99"]
    assert value == pytest.approx(sum(one["value"] for one in figures) / 2, rel=1e-5)
    assert (low, high) == pytest.approx((min(f["low"] for f in figures), max(f["high"] for f in figures)), rel=1e-5)
    assert point["replications"] == 2


def test_of_a_saturated_point_no_latency_is_in_the_page() -> None:
    summary = summary_of(CARD, 64 * MIB)
    summary["verdict"]["load"] = "saturated"
    point = point_of([RowModel.model_validate(row(0, {}, summary))], {"7123": 0}, ["cpu"])
    assert point["latency"]["transaction"]["ns"] == {}
    assert point["queries"]["0"]["us"] is None


def test_a_failed_and_a_screened_point_say_why(files: list[Path], html: str) -> None:
    points = payload_of(html)["studies"]["sweeps"][0]["points"]
    assert points[-1]["error"] == "volumes.data: 1.2 TB of the trace do not fit"
    assert points[-2]["status"] == "screened"
    assert points[-2]["stands_for_it"] == points[-3]["at"]


def test_without_scripts_it_is_spoken(html: str) -> None:
    spoken = html.split("<noscript>")[1].split("</noscript>")[0]
    assert "a sweep of 48 points, 46 of them simulated" in spoken
    assert "is the cheapest that meets the targets" in spoken


# --------------------------------------------------------------------------------------------------------- browser
def _main_line(page: Any, chart: str) -> list[float | None]:
    """Values of the line of the chosen value: the widest one."""
    found: list[float | None] = page.eval_on_selector(
        f"#{chart}",
        "e => e.data.filter(t => t.yaxis !== 'y2' && t.error_y && t.y).sort((a, b) => (b.line?.width ?? 0) -"
        " (a.line?.width ?? 0))[0].y",
    )
    return found


def _slide(page: Any, key: str, to: int) -> None:
    page.eval_on_selector(
        f"[id='axis-of-{key}']", "(e, to) => { e.value = to; e.dispatchEvent(new Event('input')); }", to
    )


def _p99_us(one: dict[str, Any], name: str = "transaction") -> float | None:
    if one["status"] != "done" or one["summary"]["verdict"]["load"] == "saturated":
        return None
    value = one["summary"]["latency_ns"][name]["p99"]["value"]
    return None if value is None else value / 1e3


def _near(found: list[float | None], expected: list[float | None]) -> None:
    assert [value is None for value in found] == [value is None for value in expected]
    known = [(a, b) for a, b in zip(found, expected, strict=True) if a is not None and b is not None]
    assert [a for a, _ in known] == pytest.approx([b for _, b in known], rel=1e-5)


@pytest.mark.long
@pytest.mark.browser
def test_every_slider_moves_every_chart_to_the_numbers_of_the_files(
    files: list[Path], html: str, open_page: Open
) -> None:
    rows = rows_of(files[0])
    page = open_page(html)
    pools, devices, loads = [size_text(pool) for pool in POOLS], list(DEVICES), [f"{load:g}" for load in LOADS]
    mrc = {point["cache_bytes"]: point["miss_ratio"] for point in miss_ratio_document()["points"]}
    curve = load_document()["points"]
    for pool, device, load in ((0, 0, 1), (3, 1, 0), (2, 2, 2), (1, 0, 3)):
        _slide(page, "engine.buffer_pool", pool)
        _slide(page, "replay.load", load)
        page.locator("[id='axis-of-volumes.data.device']").select_option(index=device)
        page.wait_for_timeout(50)
        chosen = rows[pools[pool], devices[device], loads[load]]
        _near(_main_line(page, "axis-0"), [_p99_us(rows[one, devices[device], loads[load]]) for one in pools])
        _near(_main_line(page, "axis-2"), [_p99_us(rows[pools[pool], devices[device], one]) for one in loads])
        _near(_main_line(page, "axis-1"), [_p99_us(rows[pools[pool], one, loads[load]]) for one in devices])
        # the point in detail
        p99 = page.eval_on_selector("#point-latency", "e => (e.data.find(t => t.name === 'p99') ?? {x: []}).x")
        if chosen["summary"]["verdict"]["load"] == "saturated":
            assert p99 == []
        else:
            latencies = chosen["summary"]["latency_ns"]
            expected = [
                latencies[name]["p99"]["value"] / 1e3
                for name in payload_of(html)["studies"]["classes"]
                if latencies[name]["p99"]["resolved"]
            ]
            assert p99 == pytest.approx(expected, rel=1e-5)
            spent = {one[0]: one[1:] for one in numbers(page, "point-spent")[0][1:]}
            for query in chosen["summary"]["queries"].values():
                label = " ".join(query["text"].split())
                assert float(spent[label][0]) == pytest.approx(query["breakdown_ns"]["cpu"] / 1e3, rel=1e-5)
        busy = page.eval_on_selector("#point-stations", "e => e.data[0].x[0]")
        utilisations = [max(s["utilisation"].values()) for s in chosen["summary"]["stations"].values()]
        assert busy == pytest.approx(100 * max(utilisations), rel=1e-5)
        # the other files at the same size and load
        line = page.eval_on_selector("#mrc", "e => e.layout.shapes.at(-1).x0")
        assert line == POOLS[pool]
        missed = text(page, "#mrc-reading")
        said = re.search(r"misses ([\d.]+).%", missed)
        assert said
        assert float(said[1]) == pytest.approx(100 * mrc[POOLS[pool]], abs=0.51)
        at_load = page.eval_on_selector("#load", "e => e.layout.shapes.at(-1).x0")
        assert at_load == LOADS[load]
    drawn_load = drawn(page, "load")[0]
    assert drawn_load["x"] == [float(one["settings"]["replay.load"]) for one in curve]
    _near(drawn_load["y"], [_p99_us(one) for one in curve])


@pytest.mark.browser
def test_charts_show_the_figure_that_is_chosen(files: list[Path], html: str, open_page: Open) -> None:
    rows, page = rows_of(files[0]), open_page(html)
    _slide(page, "replay.load", 0)
    page.locator("#study-statistic").select_option("p50")
    page.wait_for_timeout(50)
    found = [rows[size_text(pool), next(iter(DEVICES)), f"{LOADS[0]:g}"]["summary"]["latency_ns"] for pool in POOLS]
    _near(_main_line(page, "axis-0"), [one["transaction"]["p50"]["value"] / 1e3 for one in found])


@pytest.mark.browser
def test_a_slider_goes_from_the_least_value_to_the_largest(open_page: Open, tmp_path: Path) -> None:
    page = open_page(page_of([write_sweep(tmp_path, pools=[POOLS[2], POOLS[0], POOLS[1]])]))
    shown = []
    for place in range(3):
        _slide(page, "engine.buffer_pool", place)
        shown.append(text(page, "output[for='axis-of-engine.buffer_pool']"))
    assert shown == ["64 MiB", "256 MiB", "1 GiB"]


@pytest.mark.browser
def test_whiskers_reach_to_the_ends_of_intervals(files: list[Path], html: str, open_page: Open) -> None:
    rows, page = rows_of(files[0]), open_page(html, whole=False)
    page.locator("[id='axis-of-volumes.data.device']").select_option(index=1)
    _slide(page, "replay.load", 0)
    page.wait_for_timeout(50)
    ends = page.eval_on_selector(
        "#axis-0",
        "e => { const t = e.data.filter(t => t.error_y && t.y && t.yaxis !== 'y2').sort((a, b) => b.line.width -"
        " a.line.width)[0]; return t.y.map((us, i) => [us - t.error_y.arrayminus[i], us + t.error_y.array[i]]); }",
    )
    found = [rows[size_text(pool), list(DEVICES)[1], f"{LOADS[0]:g}"] for pool in POOLS]
    figures = [one["summary"]["latency_ns"]["transaction"]["p99"] for one in found]
    assert ends == [[pytest.approx(figure[end] / 1e3, rel=1e-4) for end in ("low", "high")] for figure in figures]


@pytest.mark.browser
def test_the_curve_has_its_band_its_knee_and_what_lies_beyond(open_page: Open, tmp_path: Path) -> None:
    document = miss_ratio_document()
    page = open_page(page_of([write_document(tmp_path, "shop", document)]))
    band, line, knee = drawn(page, "mrc")[:3]
    assert line["y"] == pytest.approx([100 * point["miss_ratio"] for point in document["points"]], rel=1e-5)
    half = document["points"][0]["error"] * 100
    assert max(band["y"][: len(line["y"])]) == pytest.approx(min(line["y"][0] + half, 100), rel=1e-5)
    assert knee["x"] == [document["knees"][0]["cache_bytes"]]
    shaded = page.eval_on_selector("#mrc", "e => e.layout.shapes[0].x0")
    assert shaded == document["recorded"]["cache_bytes"]
    assert "larger than recorded" in text(page, "figure:has(#mrc) .legend")
    assert "Larger than recorded: hits of that cache were never seen." in text(page, "#mrc-reading")
    page.locator("#study-curve").select_option(label="relation orders")
    of_orders = drawn(page, "mrc")[1]
    assert of_orders["y"] == pytest.approx(
        [100 * point["miss_ratio"] for point in document["curves"][0]["points"]], rel=1e-5
    )


@pytest.mark.browser
def test_behind_a_recorded_cache_nothing_is_as_recorded(open_page: Open, tmp_path: Path) -> None:
    document = miss_ratio_document()
    document["trace"] = {**document["trace"], "hash": None, "requests": 1000, "references": 0}
    document["points"][0]["miss_ratio"] = None
    page = open_page(
        page_of([write_document(tmp_path, "shop", document), write_sweep(tmp_path, pools=POOLS[:2], loads=(1.0,))])
    )
    assert "beyond what was recorded: a cache added behind it" in text(page, "figure:has(#mrc) .legend")
    assert page.locator("[id='axis-of-added cache']").count() == 1
    before = text(page, "#mrc-reading")
    _slide(page, "engine.buffer_pool", 1)  # another cache
    assert text(page, "#mrc-reading") == before
    _slide(page, "added cache", 0)
    assert text(page, "#mrc-reading") != before


@pytest.mark.browser
def test_curves_without_an_error_have_no_band(open_page: Open, tmp_path: Path) -> None:
    paths = [write_document(tmp_path, name, miss_ratio_document(name, error=None)) for name in ("lru", "sieve")]
    page = open_page(page_of(paths))
    assert [trace["name"] for trace in drawn(page, "mrc")] == ["lru", "knees", "sieve", "knees"]


def test_a_candidate_whose_rent_is_not_known_has_no_price(tmp_path: Path) -> None:
    """What is paid once for a cloud volume is nothing: it would be the cheapest of all."""
    document = size_document()
    cost = document["candidates"][0]["cost"]
    rent = {"what": "aws-gp3, provisioned IOPS", "count": 3000, "each": None, "per": "month", "source": "not known"}
    cost |= {"capex": 0.0, "monthly": None, "total": None, "parts": [*cost["parts"], rent]}
    payload = study_payload(open_inputs([write_document(tmp_path, "size", document)]).studies)
    one, another, *_ = payload["sizes"][0]["candidates"]
    assert one["cost"]["price"] is None
    assert another["cost"]["price"] == document["candidates"][1]["cost"]["capex"]


@pytest.mark.browser
def test_candidates_stand_at_their_price_and_latency(html: str, files: list[Path], open_page: Open) -> None:
    document = json.loads(files[3].read_text())
    page = open_page(html, whole=False)
    traces = {trace["name"]: trace for trace in drawn(page, "price")}
    for status in ("chosen", "meets", "fails"):
        own = [one for one in document["candidates"] if one["status"] == status]
        assert traces[status]["y"] == pytest.approx([one["cost"]["capex"] for one in own])
        _near(traces[status]["x"], [_p99_us(one["row"]) for one in own])
    front = traces["Pareto front"]
    by_name = {one["name"]: one for one in document["candidates"]}
    expected = sorted(
        (_p99_us(by_name[name]["row"]) or 0.0, by_name[name]["cost"]["capex"]) for name in document["pareto"]
    )
    assert list(zip(front["x"], front["y"], strict=True)) == [
        (pytest.approx(us, rel=1e-5), price) for us, price in expected
    ]
    assert document["chosen"] in text(page, "#lead")
    page.locator("#study-candidate").select_option(label="2 × seagate-cheetah-15k7-300")
    assert text(page, "#point-title") == "2 × seagate-cheetah-15k7-300"
    assert "p99(transaction) is" in text(page, "#candidates tr.selected")
    page.locator("#size-cost summary").click()
    costs = [row.split("\t") for row in page.locator("#size-cost tbody").inner_text().splitlines()]
    assert ["energy, kWh", "90", "0.125", "every month", "[power]"] in costs


@pytest.mark.browser
def test_what_was_chosen_by_its_value_is_not_called_the_cheapest(open_page: Open, tmp_path: Path) -> None:
    document = size_document()
    good = [one for one in document["candidates"] if one["status"] in ("chosen", "meets")]
    dearest = max(good, key=lambda one: float(one["cost"]["capex"]))
    for one in good:
        one["status"] = "chosen" if one is dearest else "meets"
    html = page_of([write_document(tmp_path, "shop", document | {"chosen": dearest["name"]})])
    page = open_page(html)
    assert ": most throughput for its cost of those of 24 candidates that meet p99(transaction)" in text(page, "#lead")
    assert f"{dearest['name']} has most throughput for its cost of those that meet the t" in text(
        page, "#price-reading"
    )
    assert f"{dearest['name']} has most throughput for its cost of those that meet the targets." in html


@pytest.mark.browser
@pytest.mark.parametrize("every", first(1, False, True))
def test_what_should_be_bought_is_in_doubt_where_its_targets_are(open_page: Open, tmp_path: Path, every: bool) -> None:
    document = size_document()
    good = [one for one in document["candidates"] if one["status"] in ("chosen", "meets")]
    doubtful = good if every else [one for one in good if one["status"] == "chosen"]
    for one in doubtful:
        one["doubts"] = ["without a calibration, the error of p99 is unknown; measure before you decide"]
    sure = next((one["name"] for one in good if one not in doubtful), None)
    html = page_of([write_document(tmp_path, "shop", document)])
    instead = f"The cheapest simulated candidate without a doubt: {sure}." if sure else "No simulated candidate is"
    assert f"In doubt (why, in the table). {instead}" in text(open_page(html), "#lead")
    assert f"{document['chosen']} is the cheapest that meets the targets, in doubt." in html


@pytest.mark.browser
@pytest.mark.parametrize(
    ("calibration", "said"), first(1, ("none", "Not calibrated."), ("uncalibrated", "Calibration failed"))
)
def test_a_search_says_what_became_of_its_calibration(
    open_page: Open, tmp_path: Path, calibration: str, said: str
) -> None:
    document = size_document(6)
    for one in document["candidates"]:
        if one["row"]:
            one["row"]["summary"]["verdict"]["calibration"] = calibration
    known = text(open_page(page_of([write_document(tmp_path, "shop", document)])), "#study-known")
    assert [words in known for words in ("Not calibrated.", "Calibration failed")].count(True) == 1
    assert said in known


@pytest.mark.browser
def test_a_point_whose_load_was_not_run_says_which_one_was(open_page: Open, tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path, pools=POOLS[:1], loads=(1.3, 2.0))
    for path in (sweep / "points").iterdir():
        row = json.loads(path.read_text())
        if row["settings"]["replay.load"] == "1.3" and row["summary"]:
            row["summary"]["load_not_run"] = {"whole": "8 sessions", "asked": 1.3, "ran": 1.25}
            path.write_text(json.dumps(row))
    page = open_page(page_of([sweep]))
    said = "Sessions are cloned or left out whole (8 sessions recorded): 1.3 × the recorded load ran as 1.25 ×."
    assert said in text(page, "#point-note").replace("\u00a0", " ")
    assert text(page, "#study-known").replace("\u00a0", " ").count(said) == 1


@pytest.mark.browser
@pytest.mark.parametrize(
    ("largest", "said"),
    [
        (None, "ssds: its clients wait for answers, so no load is too much."),
        ({"value": None, "low": 4.0, "high": None}, "ssds sustains more than 4.00 × the recorded load"),
        ({"value": None, "low": None, "high": 0.25}, "ssds sustains less than 0.250 × the recorded load"),
    ],
)
def test_a_largest_load_that_is_not_known_is_a_bound(
    largest: dict[str, Any] | None, said: str, open_page: Open, tmp_path: Path
) -> None:
    figure = largest and {**largest, "resolved": False, "basis": "every run"}
    document = load_document() | {"largest_sustainable": figure, "limited_by": None, "scenario": "ssds"}
    html = page_of([write_document(tmp_path, "shop", document)])
    assert said in text(open_page(html), "#lead").replace("\u00a0", " ")
    assert "not known" not in html.split("<noscript>")[1].split("</noscript>")[0]


@pytest.mark.browser
@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"value": 3.2, "low": 3.2, "high": 3.25}, ["3.20 × the recorded load", "sustained is 3.20 × (3.20 to 3.25)"]),
        ({"value": None, "low": 4.0, "high": None}, ["more than 4.00 × the recorded load", "4.00 × is sustained"]),
    ],
)
def test_a_load_that_lives_on_burst_credits_is_sustained_until_they_are_spent(
    known: dict[str, Any], said: list[str], open_page: Open, tmp_path: Path
) -> None:
    figure = {**known, "resolved": known["value"] is not None, "basis": f"every run; {SPENT}"}
    html = page_of([write_document(tmp_path, "shop", load_document() | {"largest_sustainable": figure})])
    page = open_page(html)
    for place, words in zip(("#lead", "#load-reading"), said, strict=True):
        assert f"{words} ({SPENT})" in text(page, place)
    assert SPENT in html.split("<noscript>")[1].split("</noscript>")[0]


@pytest.mark.browser
def test_a_point_that_failed_says_so_and_one_that_was_screened_shows_its_like(html: str, open_page: Open) -> None:
    page = open_page(html, whole=False)
    _slide(page, "engine.buffer_pool", 3)
    page.locator("[id='axis-of-volumes.data.device']").select_option(index=2)
    _slide(page, "replay.load", 3)
    assert "This point failed: volumes.data: 1.2 TB of the trace do not fit" in text(page, "#point-note")
    _slide(page, "replay.load", 2)
    assert "Not simulated: no more misses than there." in text(page, "#point-note")
    shown = page.eval_on_selector("#point-latency", "e => e.data.find(t => t.name === 'p99').x[0]")
    _slide(page, "replay.load", 1)
    assert page.eval_on_selector("#point-latency", "e => e.data.find(t => t.name === 'p99').x[0]") == shown


@pytest.mark.long
@pytest.mark.browser
def test_the_state_is_in_the_address(html: str, open_page: Open) -> None:
    page = open_page(html)
    _slide(page, "engine.buffer_pool", 2)
    page.locator("#study-of").select_option(label="Commits")
    page.locator("#study-statistic").select_option("p95")
    page.locator("#theme").click()
    assert "engine.buffer_pool=1GiB" in page.url
    again = open_page(html, "#" + page.url.split("#")[1])
    assert text(again, "#study-controls output >> nth=0") == "1 GiB"
    assert again.locator("#study-of").input_value() == "commit"
    assert "p95 of commits" in text(again, "#axis-0-reading")
    assert again.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize(
    "fragment", first(1, "#engine.buffer_pool=3PiB&of=nothing&figure=p12&details=x&candidate=y", "#=", "#content")
)
def test_a_broken_address_is_the_usual_view(html: str, open_page: Open, read_page: Open, fragment: str) -> None:
    assert text(open_page(html, fragment), "#point-title") == text(read_page(html), "#point-title")


#: Nothing is drawn when the browser rests, until the test says so.
NO_REST = "window.rest = []; window.requestIdleCallback = work => { window.rest.push(work); };"


@pytest.mark.long
@pytest.mark.browser
def test_what_is_in_view_is_drawn_first_and_all_of_it_on_paper(html: str, open_page: Open, tabs: Tabs) -> None:
    page = tabs.context.new_page()
    page.set_viewport_size({"width": 1240, "height": 1200})
    page.add_init_script(NO_REST)
    file = tabs.folder / "at-rest.html"
    file.write_text(html, encoding="utf-8")
    page.goto(file.as_uri())
    page.locator("html[data-ready]").wait_for(state="attached")
    state = "es => es.map(e => [!!e.querySelector('.main-svg'), e.getBoundingClientRect().top < innerHeight])"
    charts = page.eval_on_selector_all("#studies .plot", state)
    assert all(is_drawn == in_view for is_drawn, in_view in charts)
    assert {is_drawn for is_drawn, _ in charts} == {True, False}
    # what is not drawn yet knows its numbers, and follows what is chosen
    _slide(page, "engine.buffer_pool", 0)
    assert page.eval_on_selector("#mrc", "e => e.layout.shapes.at(-1).x0") == POOLS[0]
    # what is scrolled into view comes first
    page.eval_on_selector("#price", "e => e.scrollIntoView()")
    page.evaluate("window.rest.shift()()")
    assert page.locator("#price .main-svg").count()
    assert not page.locator("#mrc .main-svg").count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert all(is_drawn for is_drawn, _ in page.eval_on_selector_all("#studies .plot", state))
    assert page.evaluate("document.documentElement.dataset.drawn") == "1"
    page.close()


@pytest.mark.long
@pytest.mark.browser
def test_all_of_it_works_from_the_keyboard(html: str, open_page: Open) -> None:
    page = open_page(html)
    page.locator("[id='axis-of-engine.buffer_pool']").focus()
    page.keyboard.press("Home")
    assert text(page, "#study-controls output >> nth=0") == "64 MiB"
    page.keyboard.press("ArrowRight")
    assert text(page, "#study-controls output >> nth=0") == "256 MiB"
    assert page.locator("[id='axis-of-engine.buffer_pool']").get_attribute("aria-valuetext") == "256\xa0MiB"
    page.locator("[id='axis-of-volumes.data.device']").focus()
    page.keyboard.press("ArrowDown")
    assert "micron-s650dc-800" in text(page, "#point-title")
    page.locator("#points thead .sort", has_text="Latency").focus()
    page.keyboard.press("Enter")
    head = page.locator("#points thead th", has_text="Latency")
    assert head.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert page.evaluate("document.activeElement.textContent") == "Latency ↓"
    page.locator("#points tbody .pick >> nth=0").focus()
    page.keyboard.press("Enter")
    assert page.locator("#points tbody tr >> nth=0").get_attribute("class") == "selected"


@pytest.mark.long
@pytest.mark.browser
def test_tables_are_sorted_searched_and_whole(html: str, files: list[Path], open_page: Open) -> None:
    page = open_page(html)
    page.locator("#points + * , #points-section .more").last.click()
    assert page.locator("#points tbody tr").count() == 48
    page.locator("#points thead .sort", has_text="Buffer pool").click()
    page.locator("#points thead .sort", has_text="Buffer pool").click()
    column = page.locator("#points tbody tr td:nth-child(2)").all_inner_texts()
    assert [one.replace("\xa0", " ") for one in column[:12]] == ["4 GiB"] * 12
    page.locator("#points-find").fill("p3700")
    assert text(page, "#points-section [role=status]") == "16 of 48"
    page.locator("#points-find").fill("no such thing")
    assert text(page, "#points tbody") == "Nothing holds this text."
    page.locator("#candidates-find").fill("the target is 9 ms")
    failing = sum(one["status"] == "fails" for one in size_document()["candidates"])
    assert text(page, "#size-section [role=status]").startswith(f"{failing} of")


@pytest.mark.browser
def test_a_verdict_in_doubt_is_said_of_points_and_loads(open_page: Open, tmp_path: Path) -> None:
    sweep, load = write_sweep(tmp_path, pools=POOLS[:1], loads=(1.0, 2.0)), load_document()
    for file in ("000000.json", "000001.json"):
        one = json.loads((sweep / "points" / file).read_text())
        one["summary"]["in_doubt"] = one["point"] == 0
        (sweep / "points" / file).write_text(json.dumps(one))
    load["points"][2]["summary"]["in_doubt"] = True
    page = open_page(page_of([sweep, write_document(tmp_path, "x", load)]))
    rows = page.locator("#points tbody tr")
    assert ["in doubt" in rows.nth(place).inner_text() for place in (0, 1)] == [True, False]
    verdicts = [one[-1] for one in numbers(page, "load")[0][1:]]
    assert verdicts == ["carries the load"] * 2 + ["carries the load, in doubt"] + ["carries the load"] * 3 + [
        "saturated"
    ]
    assert "In doubt: the expected error" in text(page, "#study-known")


@pytest.mark.browser
def test_the_data_behind_a_chart_are_downloaded(html: str, files: list[Path], open_page: Open) -> None:
    page = open_page(html, "#replay.load=1", whole=False)
    assert text(page, "#study-controls output >> nth=1") == "1 ×"
    table = numbers(page, "axis-0")[0]
    with page.expect_download() as download:
        page.locator("#axis-0 ~ details button", has_text="Download CSV").click()
    assert download.value.suggested_filename == "p99-of-transactions.csv"
    rows = list(csv.reader(Path(download.value.path()).read_text(encoding="utf-8").splitlines()))
    assert rows[0] == table[0]
    assert len(rows) == 1 + len(POOLS) * len(DEVICES)
    assert all(one[2] for one in rows[1:]), rows  # at this load nothing failed
    found = {(one[0], int(one[1])): float(one[2]) for one in rows[1:]}
    source = rows_of(files[0])
    for (device, pool), value in found.items():
        wanted = _p99_us(source[size_text(pool), device, "1"])
        assert wanted is not None
        assert value == pytest.approx(wanted * 1e3, rel=1e-5)


@pytest.mark.long
@pytest.mark.browser
def test_hostile_texts_are_shown_as_text(open_page: Open, tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path, pools=POOLS[:2], loads=(1.0, 2.0), texts=HOSTILE_TEXTS)
    curves, sizes = miss_ratio_document(), size_document(6)
    query = curves["curves"][1]
    curves["curves"][1:2] = [query | {"name": name[:2000]} for name in HOSTILE_TEXTS.values()]
    for candidate, name in zip(sizes["candidates"], HOSTILE_TEXTS.values(), strict=False):
        candidate |= {"name": name[:500], "why": [name[:500]]}
    paths = [sweep, write_document(tmp_path, "x", curves), write_document(tmp_path, "x", sizes)]
    page = open_page(page_of(paths))
    for name, hostile in HOSTILE_TEXTS.items():
        page.locator("#study-of").select_option(value=f"query:{name}")
        shown = page.locator("#study-query pre").evaluate("e => e.textContent")
        assert shown == hostile.encode("utf-8", "replace").decode()[:MOST_TEXT]
        assert page.locator("#study-query pre > *").count() == 0
        assert page.locator("img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.browser
def test_checkpoints_of_kept_results_stand_on_a_logarithmic_axis(open_page: Open, tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path, pools=POOLS[:2], loads=(1.0, 2.0), devices={"disks": DISKS, "card": CARD}, keep=True)
    html = page_of([sweep])
    page = open_page(html)
    time = next(point for point in payload_of(html)["studies"]["sweeps"][0]["points"] if point["at"] == [0, 0, 0])[
        "time"
    ]
    lines = {trace["name"]: trace["y"] for trace in drawn(page, "point-time")}
    assert lines["transaction: mean"] == time["by_class"]["transaction"]["mean_us"]
    assert page.eval_on_selector("#point-time", "e => [e.layout.yaxis.type, e.layout.yaxis2.type]") == ["log", "log"]
    spans = page.eval_on_selector("#point-time", "e => e.layout.shapes.map(s => [s.x0, s.x1])")
    assert spans == [*time["spans_s"], *time["syncing_s"]]
    assert time["spans_s"]


@pytest.mark.browser
def test_without_kept_results_the_checkpoints_of_the_row_are_drawn(html: str, read_page: Open) -> None:
    page = read_page(html)
    writing, syncing = drawn(page, "point-time")
    one = summary_of(DISKS, 64 * MIB)["checkpoints"][0]
    assert writing["y"] == [one["write_ns"] / 1e3]
    assert syncing["y"] == [one["sync_ns"] / 1e3]
    assert "sweep with --keep" in text(page, "#point-time-reading")


@pytest.mark.browser
@pytest.mark.parametrize("place", first(2, 0, 4, 1, 2, 3))
def test_each_kind_of_file_is_a_page_of_its_own(files: list[Path], open_page: Open, place: int) -> None:
    page = open_page(page_of([files[place]]))
    kinds = ("sweep", "mrc", "load", "size", "pack")
    sections = [name for name in kinds if page.locator(f"#{name}-section").is_visible()]
    assert sections == [kinds[place]]
    assert page.locator("#point-section").is_visible() == (place not in {1, 4})


@pytest.mark.browser
def test_a_placement_is_a_card_for_each_array_with_a_bar_of_what_each_database_takes(
    html: str, open_page: Open, read_page: Open, tmp_path: Path
) -> None:
    page = read_page(html)
    cards = page.locator("#pack-section .card")
    assert cards.count() == 2
    widths = page.eval_on_selector_all(
        "#pack-section .card:first-child .filled", "bars => bars.map(bar => [...bar.children].map(e => e.style.width))"
    )
    assert widths == [["50%", "25%", "12%"], ["10%", "20%", "5%"]]
    said = cards.nth(0).inner_text()
    assert "87 %" in said.replace("\u00a0", " ")
    assert "p99(data read) < 12 ms: at 83 %" in said.replace("\u00a0", " ")
    assert "In doubt: shop, bill: without a calibration" in said
    lead = text(page, "#lead").replace("\u00a0", " ")
    assert "On 2 arrays for 2,280 USD" in lead
    assert "raid1. In doubt (why, below the databases)." in lead
    homeless = [{"tenant": "shop", "why": {"raid10": "its data do not fit"}}]
    none = pack_document(fits=False, cost=None, arrays=[], does_not_fit=homeless)
    page = open_page(page_of([write_document(tmp_path, "none", none)]))
    assert text(page, "#lead").endswith("shop does not fit on any candidate.")
    assert page.locator("#pack-section .card").count() == 0
    assert "its data do not fit" in page.locator("#pack-section").inner_text()


@pytest.mark.long
@pytest.mark.browser
def test_results_stand_below_studies_on_one_page(files: list[Path], open_page: Open, tmp_path: Path) -> None:
    found = open_inputs(files)
    page = open_page(
        build_page([sample(DISKS), sample(CARD)], "both", found.studies), "#scenario=pcie-p3700&compare=15k-raid10"
    )
    assert page.locator("#sweep-section").is_visible()
    assert text(page, "#pair-title") == "pcie-p3700 against 15k-raid10"
    _slide(page, "engine.buffer_pool", 3)
    assert "scenario=pcie-p3700" in page.url
    assert "engine.buffer_pool=4GiB" in page.url
    assert "Which carries the load?" in text(page, "#lead")
    assert "What should be bought?" in text(page, "#study-lead")


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), first(1, (390, "dark"), (1600, "light")))
def test_nothing_sticks_out(html: str, read_page: Open, width: int, scheme: str) -> None:
    page = read_page(html, width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    plots = page.eval_on_selector_all(
        "#studies .plot", "es => es.map(e => [e.scrollWidth <= e.clientWidth + 1, e.clientHeight > 200])"
    )
    assert len(plots) == 10
    assert all(fits and tall for fits, tall in plots)


@pytest.mark.long
@pytest.mark.browser
def test_two_hundred_points_stay_small(open_page: Open, tmp_path: Path) -> None:
    pools = [int(64 * MIB * 2 ** (step / 2)) // MIB * MIB for step in range(10)]
    texts = {f"q{number}": f"SELECT {number} FROM t{number}" for number in range(60)}
    sweep = write_sweep(tmp_path, pools=pools, loads=(0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0), texts=texts)
    html = page_of([sweep])
    assert len(payload_of(html)["studies"]["sweeps"][0]["points"]) == 210
    assert len(html.encode()) < 12_000_000
    page = open_page(html)
    assert len(_main_line(page, "axis-0")) == 10
