"""The report: what is in it, that nothing breaks out of it, and what a browser makes of it."""

import hashlib
import itertools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest

from tests.examples import first
from tests.page_browser import Open, drawn, numbers, reload, text, unfolded
from tests.page_samples import CARD, DISKS, SPAN_NS, SSDS, TOO_FEW_DISKS, Hardware, checked, sample, samples
from tests.page_statements import statement_sample
from tiersim.cli.page import build_page
from tiersim.cli.page.payload import embedded_json, page_payload
from tiersim.cli.page.series import MOST_STATIONS, over_time
from tiersim.simulator.result import Result

HOSTILE = "</script><img src=x onerror=alert(1)>\u2028<!--<script>&amp;'\""
PERCENTILES = ("p50", "p95", "p99", "p999")


@pytest.fixture(scope="module")
def html() -> str:
    return build_page(samples(), "pgbench on four tiers")


class _Elements(HTMLParser):
    """Tags and scripts as a browser would read them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[str] = []
        self.title = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, text: str) -> None:
        if self.tags and self.tags[-1] == "script":
            self.scripts[-1] += text
        if self.tags and self.tags[-1] == "title" and not self.title:
            self.title = text


# ---------------------------------------------------------------------------------------------------------- payload
def test_same_results_same_bytes(html: str) -> None:
    assert build_page(samples(), "pgbench on four tiers") == html


def test_page_is_small(html: str) -> None:
    assert len(html.encode()) < 2_500_000
    assert len(embedded_json(page_payload(samples(), "x")).encode()) < 300_000


@pytest.mark.long
def test_many_large_scenarios_still_fit() -> None:
    shelves = [sample(replace(DISKS, name=f"shelf-{i}", stations=64)) for i in range(6)]
    payload = page_payload(shelves, "x")
    assert payload["merged_intervals"] > 1
    assert len(embedded_json(payload).encode()) < 1_000_000
    whole = page_payload([shelves[0]], "x")["scenarios"][0]["time"]
    merged = payload["scenarios"][0]["time"]
    assert len(merged["start_s"]) < len(whole["start_s"])
    assert (merged["start_s"][0], merged["end_s"][-1]) == (whole["start_s"][0], whole["end_s"][-1])
    for name, series in whole["by_class"].items():
        assert sum(merged["by_class"][name]["arrivals"]) == sum(series["arrivals"])
        known = [value for value in series["p99_us"] if value is not None]
        assert max(value for value in merged["by_class"][name]["p99_us"] if value is not None) == max(known)


def test_only_the_busiest_stations_aredrawn() -> None:
    stations = page_payload([sample(replace(DISKS, stations=MOST_STATIONS + 6))], "x")["scenarios"][0]["stations"]
    assert len(stations["rows"]) == MOST_STATIONS
    assert stations["left_out"] == 6
    assert {row["resource"] for row in stations["rows"]} == {"actuator"}


def test_curves_meet_the_percentiles_of_the_summary() -> None:
    result = sample(SSDS)
    payload = page_payload([result], "x")["scenarios"][0]
    for purpose, figures in result.summary["latency_ns"].items():
        curve = payload["curves"][purpose]
        assert curve["us"] == sorted(curve["us"])
        if not figures["p99"]["resolved"]:
            assert curve["rank"][-1] < 100
            continue
        at_99 = next(us for rank, us in zip(curve["rank"], curve["us"], strict=True) if rank >= 99.9)
        assert at_99 * 1e3 == pytest.approx(figures["p99"]["value"], rel=0.05)


def test_a_saturated_scenario_has_no_latency_in_the_payload() -> None:
    result = sample(TOO_FEW_DISKS)
    for figures in result.summary["latency_ns"].values():  # even when a summary says too much
        figures["p99"] = {"value": 1.0, "low": 1.0, "high": 1.0, "resolved": True, "basis": "simulated"}
    scenario = page_payload([result], "x")["scenarios"][0]
    assert scenario["curves"] == {}
    assert all(set(figures) == {"count"} for figures in scenario["latency_ns"].values())
    assert all(set(s) == {"arrivals", "completions", "mean_us"} for s in scenario["time"]["by_class"].values())


def test_equal_names_are_told_apart() -> None:
    names = [
        scenario["name"] for scenario in page_payload([sample(CARD), sample(CARD), sample(CARD)], "x")["scenarios"]
    ]
    assert names == ["pcie-p3700", "pcie-p3700 (2)", "pcie-p3700 (3)"]


def test_classes_stand_in_the_order_in_which_people_look_at_them() -> None:
    purposes = page_payload([sample(SSDS)], "x")["purposes"]
    assert purposes == ["log write", "log flush", "data read", "data write", "checkpoint write", "flush"]


def test_the_open_interval_after_the_recording_is_notdrawn() -> None:
    result = sample(TOO_FEW_DISKS)
    left = {row["class"]: row["completions"] for row in result.timeline.to_pylist() if row["start_ns"] == SPAN_NS}
    time = page_payload([result], "x")["scenarios"][0]["time"]
    assert time["end_s"][-1] == SPAN_NS / 1e9
    for name, series in time["by_class"].items():
        assert left[name] > 100  # a rate that no hardware has: it would be drawn as a peak
        assert sum(series["arrivals"]) - sum(series["completions"]) == left[name]


def test_intervals_that_are_drawn_as_one_show_the_worst_p99_and_the_mean_of_their_requests() -> None:
    apart, merged = (over_time(sample(CARD), count, with_percentiles=True, as_backlog=False) for count in (1, 3))
    for name, series in merged["by_class"].items():
        own = apart["by_class"][name]
        for place in range(len(merged["start_s"])):
            part = slice(3 * place, 3 * place + 3)
            assert series["p99_us"][place] == max((p99 for p99 in own["p99_us"][part] if p99 is not None), default=None)
            arrivals, means = own["arrivals"][part], own["mean_us"][part]
            if series["mean_us"][place] is not None:
                summed = sum(count * mean for count, mean in zip(arrivals, means, strict=True) if mean is not None)
                assert series["mean_us"][place] == pytest.approx(summed / sum(arrivals), rel=0.01)


def test_intervals_that_are_drawn_as_one_show_the_backlog_at_their_end() -> None:
    result = sample(TOO_FEW_DISKS)
    apart, merged = (
        over_time(result, count, with_percentiles=False, as_backlog=True)["outstanding"] for count in (1, 3)
    )
    assert merged[: len(apart) // 3] == apart[2::3]
    assert merged[-1] > 1.5 * merged[len(merged) // 2] > 0


def test_a_page_needs_a_result() -> None:
    with pytest.raises(ValueError, match="at least one result"):
        build_page([], "nothing")


def test_nothing_breaks_out_of_the_page(html: str) -> None:
    hostile = sample(replace(DISKS, name=HOSTILE, description=HOSTILE))
    hostile.summary["trace"]["name"] = HOSTILE
    hostile.summary["load"]["explanation"] = HOSTILE
    page = _Elements(build_page([replace(hostile, scenario_toml=f"# {HOSTILE}\n")], HOSTILE))
    plain = _Elements(html)
    assert "img" not in page.tags
    assert page.tags.count("script") == plain.tags.count("script") == 3
    assert page.scripts[1:] == plain.scripts[1:]
    assert page.title == HOSTILE
    assert json.loads(page.scripts[0])["scenarios"][0]["name"] == HOSTILE


def test_the_policy_allows_two_scripts_and_no_network(html: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    scripts = next(part for part in policy[1].split("; ") if part.startswith("script-src"))
    assert re.fullmatch(r"script-src 'sha256-[\w+/=]{44}' 'sha256-[\w+/=]{44}'", scripts)
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe-eval" not in policy[1]
    assert "http:" not in policy[1]


def test_what_draws_the_charts_is_as_it_was_published() -> None:
    """The hash is that of the package plotly.js-cartesian-dist-min 4.1.1 in npm's registry."""
    library = files("tiersim.cli.page").joinpath("plotly", "plotly-cartesian.min.js").read_bytes()
    assert hashlib.sha256(library).hexdigest() == "79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a"
    assert b"plotly.js (cartesian - minified) v4.1.1" in library[:100]


def test_without_scripts_the_verdicts_can_be_read(html: str) -> None:
    spoken = html[html.index("<noscript>") : html.index("</noscript>")]
    assert "<b>7k2-raid1</b>: saturated, in doubt." in spoken  # 1.22 × 0.83 of the load is above 0.95
    assert "</b>: carries the load. Nothing waits longer" in spoken
    assert "saturated, in doubt. data.drive-1 cannot keep up" in spoken  # a name stays as it is


# ---------------------------------------------------------------------------------------------------------- browser
def _latencies(text: str) -> list[str]:
    return re.findall(r"\d\s*(?:ns|µs|ms|s)\b", text)


CHARTS = ("percentiles", "latency-time", "requests", "outstanding", "stations", "ratios", "blame")


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1240, "light"), (390, "dark")])
def test_opens_offline_in_every_shape(html: str, read_page: Open, tmp_path: Path, width: int, scheme: str) -> None:
    page = read_page(html, width=width, scheme=scheme)
    overflow, inner = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert overflow <= inner
    for chart in CHARTS:
        assert drawn(page, chart)
        assert page.locator(f"#{chart}-reading").inner_text()
        assert page.locator(f"#{chart} .main-svg").first.bounding_box()["width"] <= width
    light, dark = "rgb(252, 252, 251)", "rgb(19, 21, 25)"
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == (light if scheme == "light" else dark)
    page.screenshot(path=tmp_path / "page.png", full_page=True)
    assert (tmp_path / "page.png").stat().st_size > 50_000


@pytest.mark.long
@pytest.mark.browser
def test_scenario_and_purpose_change_what_isdrawn(html: str, open_page: Open) -> None:
    page = open_page(html)
    before = {chart: drawn(page, chart) for chart in CHARTS}
    page.locator("#scenario").select_option(label="sas-ssd-x4")
    after = {chart: drawn(page, chart) for chart in CHARTS}
    for chart in ("latency-time", "requests", "stations"):
        assert after[chart] != before[chart], chart
    assert "sas-ssd-x4" in page.locator("#percentiles-reading").inner_text()
    page.locator("#purpose").select_option("data read")
    assert drawn(page, "percentiles") != after["percentiles"]
    assert drawn(page, "latency-time") != after["latency-time"]
    page.locator("#compare").select_option(label="pcie-p3700")
    assert len(drawn(page, "latency-time")) == 6
    page.locator("#measure").select_option("outstanding")
    assert drawn(page, "stations") != after["stations"]
    page.locator(".card .choose").first.click()
    assert page.locator("#scenario").input_value() == "0"


@pytest.mark.long
@pytest.mark.browser
def test_the_address_keeps_the_state(html: str, open_page: Open) -> None:
    page = open_page(html)
    page.locator("#scenario").select_option(label="sas-ssd-x4")
    page.locator("#purpose").select_option("data read")
    page.locator("#compare").select_option(label="15k-raid10")
    page.locator("#statistic").select_option("p50")
    shown = {chart: drawn(page, chart) for chart in CHARTS}
    reload(page)
    assert [page.locator(f"#{name}").input_value() for name in ("scenario", "purpose", "compare", "statistic")] == [
        "1", "data read", "0", "p50",
    ]  # fmt: skip
    assert {chart: drawn(page, chart) for chart in CHARTS} == shown
    odd = open_page(html, "#scenario=no+such&purpose=none&compare=%3Cb%3E")
    assert odd.locator("#scenario").input_value() == "0"


@pytest.mark.long
@pytest.mark.browser
def test_a_saturated_scenario_shows_no_latency(html: str, open_page: Open) -> None:
    page = open_page(html, "#scenario=7k2-raid1&against=nothing")
    card = page.locator(".card.saturated")
    assert "Saturated" in card.inner_text()
    assert _latencies(card.inner_text()) == []
    row = page.locator("#comparison tbody tr").last
    for statistic in ("mean", *PERCENTILES):
        page.locator("#statistic").select_option(statistic)
        assert "7k2-raid1" in row.inner_text()
        assert row.inner_text().count("saturated") == 6
        assert _latencies(row.inner_text()) == []
    assert "7k2-raid1" not in [trace["name"] for trace in drawn(page, "percentiles")]
    assert {trace["name"] for trace in drawn(page, "latency-time")} == {"mean"}
    for row in numbers(page, "percentiles")[0]:
        assert row[0] != "7k2-raid1" or row[2:] == ["–", "–", "–", "saturated"]
    assert not any("7k2-raid1" in cell for cell in numbers(page, "percentiles")[1][0])


def _with_p99(hardware: Hardware, purpose: str, low_ns: float | None, high_ns: float | None) -> Result:
    """A sample whose p99 of *purpose* is not resolved but lies somewhere."""
    result = checked(sample(hardware))
    unresolved = {"value": None, "low": low_ns, "high": high_ns, "resolved": False, "basis": "simulated"}
    result.summary["latency_ns"][purpose]["p99"] = unresolved
    return result


@pytest.mark.browser
def test_percentiles_of_which_nothing_is_known_are_said_in_words(open_page: Open) -> None:
    page = open_page(build_page([_with_p99(SSDS, "log write", None, None)], "short"))
    assert text(page, ".card .big dd") == "not resolved"
    assert "not resolved" in page.locator("#comparison").inner_text()
    assert "too few" in page.locator("#percentiles-reading").inner_text().lower()


FEW = "the same digits"
RANGES = {
    "one unit": (100.1e6, 185.4e6, "100–185 ms"),
    "the unit of the higher end": (0.5e6, 1.2e6, "0.500–1.20 ms"),
    "two units": (24e3, 3.4e6, "24.0 µs–3.40 ms"),
    "from nothing": (0.0, 5e6, "0–5.00 ms"),
    FEW: (57_010.0, 57_020.0, "about 57.0 µs"),
    "only the lower end": (48.9e6, None, "> 48.9 ms"),
}


@pytest.mark.browser
@pytest.mark.parametrize(("low_ns", "high_ns", "shown"), first(1, *sorted(RANGES.values(), key=RANGES[FEW].__ne__)))
def test_a_range_stands_where_a_figure_is_not_resolved(
    open_page: Open, low_ns: float, high_ns: float | None, shown: str
) -> None:
    page = open_page(build_page([_with_p99(DISKS, "log write", low_ns, high_ns), checked(sample(CARD))], "bursty"))
    assert text(page, ".card >> nth=0 >> .big dd") == f"{shown} only a range"
    assert text(page, "#comparison tbody tr >> nth=1 >> td >> nth=1") == f"{shown} only a range"
    resolved = page.locator(".card .big .value").nth(1)
    unresolved = page.locator(".card .big .value").nth(0)
    size, colour = "e => parseFloat(getComputedStyle(e).fontSize)", "e => getComputedStyle(e).color"
    assert unresolved.evaluate(size) < resolved.evaluate(size)
    assert unresolved.evaluate(colour) != resolved.evaluate(colour)
    ends = ["–" if ns is None else f"{ns / 1e3:g}" for ns in (low_ns, high_ns)]
    assert ["15k-raid10", "p99", "–", *ends, "only a range"] in numbers(page, "percentiles")[0]
    reading = text(page, "#percentiles-reading")
    assert re.match(rf"P99 of log writes: {re.escape(shown)} on 15k-raid10, [\d.]+ µs on pcie-p3700", reading)
    assert "too few" not in reading.lower()
    lead = text(page, "#lead")
    said = (
        rf"P99 of log writes: [\d.]+ µs on pcie-p3700, {re.escape(shown)} on 15k-raid10, [\d.]+ [mµ]s on the recorded"
    )
    assert re.search(said, lead)
    assert "latencies near this percentile scatter too much to give one value" in text(page, "#comparison-note")
    page.locator("#scenario").select_option("1")
    page.locator("#compare").select_option("0")
    assert f", {shown} on 15k-raid10" in text(page, "#percentiles-reading")


@pytest.mark.long
@pytest.mark.browser
def test_a_range_has_the_digits_of_its_unit(open_page: Open) -> None:
    hardware = [replace(DISKS, name=kind) for kind in RANGES]
    ranges = zip(hardware, RANGES.values(), strict=True)
    page = open_page(build_page([_with_p99(one, "log write", low, high) for one, (low, high, _) in ranges], "bursty"))
    cards, rows = page.locator(".card"), page.locator("#comparison tbody tr")
    for place, (_, _, shown) in enumerate(RANGES.values()):
        assert text(page, f".card >> nth={place} >> .big dd") == f"{shown} only a range"
        assert text(page, f"#comparison tbody tr >> nth={place + 1} >> td >> nth=1") == f"{shown} only a range"
    assert (cards.count(), rows.count()) == (len(RANGES), len(RANGES) + 1)


@pytest.mark.browser
def test_the_headline_speaks_when_no_scenario_resolves_it(open_page: Open) -> None:
    short = [_with_p99(DISKS, "log write", 1e8, 2e8), _with_p99(CARD, "log write", None, None)]
    lead = text(open_page(build_page(short, "short")), "#lead")
    assert "P99 of log writes: 100–200 ms on 15k-raid10, " in lead
    assert "On 2 of 2 scenarios the p99 of log writes is not one value: the slow ones came in too few bursts." in lead


@pytest.mark.browser
def test_an_interval_narrower_than_its_digits_is_left_out(open_page: Open) -> None:
    result = checked(sample(CARD))
    result.summary["latency_ns"]["log write"]["p99"].update(value=81_700.0, low=81_690.0, high=81_710.0)
    page = open_page(build_page([result], "narrow"))
    assert text(page, ".card .big dd").startswith("81.7 µs expected ")
    shown = text(page, "#comparison")
    assert "81.7 µs" in shown
    assert "81.7–81.7" not in shown


@pytest.mark.long
@pytest.mark.browser
def test_cards_name_both_halves_of_a_commit(html: str, open_page: Open, read_page: Open) -> None:
    page = read_page(html)
    assert page.locator(".card >> nth=0 >> dt").all_inner_texts() == [
        "mean of log writes", "mean of log flushes", "mean of data reads", "Requests", "Busiest part",
    ]  # fmt: skip
    both = open_page(build_page([checked(sample(CARD))], "checked"))
    assert both.locator(".card dt").all_inner_texts()[0] == "p99 of log writes"
    heads = page.locator("#comparison thead th").all_inner_texts()
    assert heads[2:4] == ["Log writes", "Log flushes"]
    assert page.locator("#purpose option").all_inner_texts()[:2] == ["Log writes", "Log flushes"]


@pytest.mark.browser
def test_captions_say_that_the_error_of_a_percentile_is_unknown(html: str, open_page: Open, read_page: Open) -> None:
    page = read_page(html)
    assert text(page, "#percentiles-reading").startswith("P99 of log writes, error unknown: ")
    assert "Upper line (error unknown): " in text(page, "#latency-time-reading")
    page = open_page(build_page([checked(sample(CARD))], "checked"))
    assert "error unknown" not in text(page, "#percentiles-reading") + text(page, "#latency-time-reading")


@pytest.mark.browser
def test_outstanding_requests_are_an_average_or_a_backlog(html: str, read_page: Open) -> None:
    page = read_page(html)
    shown = {trace["name"]: trace["y"] for trace in drawn(page, "outstanding")}
    card = sample(CARD).summary["latency_ns"]
    expected = sum(figures["count"] * figures["mean"]["value"] for figures in card.values()) / SPAN_NS
    assert sum(shown["pcie-p3700"]) / len(shown["pcie-p3700"]) == pytest.approx(expected, rel=0.01)
    assert shown["7k2-raid1"][-1] == max(shown["7k2-raid1"]) > 10_000


@pytest.mark.browser
@pytest.mark.parametrize("keeps", first(1, "clients", "rate"))
def test_clients_that_wait_have_no_chart_of_what_is_outstanding(open_page: Open, keeps: str) -> None:
    """It is their number at every moment; and they arrive when they are answered, so no line of arrivals is drawn."""
    result = sample(DISKS)
    result.summary["verdict"]["load"] = "behind"
    result.summary["replay"] = {"mode": "partly-open", "keeps": keeps, "sessions": 8}
    page = open_page(build_page([result], "x"))
    assert page.locator("figure:has(> #outstanding)").is_hidden() == (keeps == "clients")
    assert ("arrivals" in {trace["name"] for trace in drawn(page, "requests")}) == (keeps == "rate")


@pytest.mark.browser
def test_what_is_open_at_the_end_is_called_what_comes(open_page: Open) -> None:
    page = open_page(build_page([statement_sample(DISKS)], "x"))
    assert re.search(r" has (1 transaction|[0-9]+ transactions) open at the recording", text(page, "#requests-reading"))


@pytest.mark.parametrize(
    ("load", "replay", "piles_up"),
    [
        ("steady", {"mode": "open"}, False),
        ("behind", {"mode": "open"}, True),
        ("behind", {"mode": "partly-open", "keeps": "rate"}, True),
        ("behind", {"mode": "partly-open", "keeps": "clients"}, False),
        ("behind", {"mode": "closed"}, False),
        ("behind", {"mode": "partly-open"}, False),
        ("behind", {"mode": "partly-open", "played": "open"}, True),
        ("saturated", {"mode": "open"}, True),
    ],
)
def test_sessions_that_wait_for_answers_have_no_backlog(load: str, replay: dict[str, str], piles_up: bool) -> None:
    """What is outstanding is the same figure for every one of them, whether it carries the load or not."""
    result = sample(DISKS)
    expected = over_time(result, 1, with_percentiles=True, as_backlog=piles_up)["outstanding"]
    result.summary["verdict"]["load"], result.summary["replay"] = load, replay
    (scenario,) = page_payload([result], "x")["scenarios"]
    assert scenario["time"]["backlog"] == piles_up
    assert scenario["time"]["outstanding"] == expected


def test_waits_that_are_commits_are_no_log_syncs_besides() -> None:
    result = sample(DISKS)
    latency_ns = result.summary["latency_ns"]
    latency_ns["log sync"] = dict(latency_ns["log write"])
    assert "log sync" in page_payload([result], "x")["purposes"]
    latency_ns["commit"] = dict(latency_ns["log sync"])
    assert "log sync" not in page_payload([result], "x")["purposes"]
    latency_ns["commit"]["count"] += 1  # one is under way when the run ends
    assert "log sync" not in page_payload([result], "x")["purposes"]
    latency_ns["commit"]["count"] *= 2
    assert {"commit", "log sync"} < set(page_payload([result], "x")["purposes"])


@pytest.mark.browser
def test_idle_stations_are_drawn_on_a_scale_that_says_so(open_page: Open) -> None:
    page = open_page(build_page([sample(replace(SSDS, utilisation=0.008, burst=0.0))], "idle"))
    top = page.eval_on_selector("#stations", "e => e.data[0].zmax")
    assert max(max(row) for row in drawn(page, "stations")[0]["z"]) <= top < 40
    assert page.eval_on_selector("#stations", "e => e.data[0].colorbar.ticktext")[-1] == f"{top} %"
    assert re.search(r"Busiest part die of data\.drive-\d: \d\.\d %", text(page, ".card"))


@pytest.mark.browser
@pytest.mark.parametrize("width", [1240, 390])
def test_assumptions_can_be_read_in_every_width(html: str, read_page: Open, width: int) -> None:
    page = read_page(html, width=width)
    unfolded(page)
    rows = page.locator(".words tbody tr")
    assert [text(page, f".words tbody tr >> nth={i}") for i in range(rows.count())] == [
        "data: 16 × 15K SAS drives, RAID 10",
        "command_overhead 0.2 ms datasheet: product manual, rev. C",
        "queue_depth 32 assumed: 16..64",
    ]
    assert all(row.bounding_box()["height"] < 70 for row in rows.all())
    assert page.eval_on_selector(".words", "e => e.scrollWidth <= e.parentElement.clientWidth")


@pytest.mark.browser
def test_the_time_charts_zoom_together(html: str, open_page: Open) -> None:
    page = open_page(html)
    assert not page.locator("#whole-run").is_visible()
    page.evaluate("Plotly.relayout('latency-time', {'xaxis.range[0]': 40, 'xaxis.range[1]': 60})")
    for chart in ("latency-time", "requests", "outstanding", "stations"):
        assert page.eval_on_selector(f"#{chart}", "e => e._fullLayout.xaxis.range") == [40, 60]
    page.locator("#whole-run").click()
    assert page.eval_on_selector("#stations", "e => e._fullLayout.xaxis.range") == [0, 120]


@pytest.mark.browser
def test_light_and_dark_can_be_switched(html: str, open_page: Open) -> None:
    page = open_page(html, scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    line = "document.getElementById('outstanding').data.at(-1).line.color"
    before = page.evaluate(f"[{background}, {line}]")
    page.locator("#theme").click()
    after = page.evaluate(f"[{background}, {line}]")
    assert (before[0] != after[0], before[1] != after[1]) == (True, True)


@pytest.mark.long
@pytest.mark.browser
def test_every_chart_has_its_numbers(html: str, read_page: Open) -> None:
    page = read_page(html)
    for chart in CHARTS:
        page.locator(f"#{chart} ~ details summary").click()
        page.locator(f"#{chart} ~ details tbody tr").nth(3).wait_for()


@pytest.mark.long
@pytest.mark.browser
def test_pointing_at_a_chart_tells_its_values(html: str, open_page: Open) -> None:
    page = open_page(html)
    for chart, said in (("percentiles", "%"), ("latency-time", "p99"), ("requests", "/s"), ("stations", "data.drive")):
        page.locator(f"#{chart} .nsewdrag").first.hover()
        assert said in (page.locator(f"#{chart} .hoverlayer").text_content(timeout=5000) or ""), chart


@pytest.mark.browser
def test_no_button_offers_to_send_a_chart_away(html: str, read_page: Open) -> None:
    buttons = read_page(html).eval_on_selector_all(".modebar-btn", "es => es.map(e => e.dataset.title)")
    assert len(buttons) == len(CHARTS)
    assert all(title.startswith("Download plot") for title in buttons)


@pytest.mark.browser
def test_it_works_from_the_keyboard(html: str, open_page: Open) -> None:
    page = open_page(html, whole=False)
    page.locator("#scenario").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#scenario").input_value() == "1"
    assert "scenario=sas-ssd-x4" in page.url


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize(
    ("stations", "width"), first(2, (64, 390), (1, 1240), (64, 1240), (1, 390), (2, 1240), (2, 390))
)
def test_any_number_of_stations_is_legible(open_page: Open, stations: int, width: int) -> None:
    html = build_page([sample(replace(DISKS, stations=stations), measured=False)], "one array")
    page = open_page(html, width=width)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("#stations").bounding_box()["height"] <= 640
    if stations > 3:
        labels = page.locator("#stations .ytick text").all()
        tops = [label.bounding_box()["y"] for label in labels]
        assert min(b - a for a, b in itertools.pairwise(tops)) > 11


@pytest.mark.browser
def test_hostile_names_are_shown_as_they_are(open_page: Open) -> None:
    hostile = sample(replace(DISKS, name=HOSTILE, description=HOSTILE))
    page = open_page(build_page([hostile, sample(CARD)], HOSTILE), width=390)
    assert page.locator("img").count() == 0
    assert HOSTILE.replace("\u2028", "") in page.locator(".card .name").first.text_content().replace("\u2028", "")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.browser
def test_an_empty_result_is_still_a_page(open_page: Open) -> None:
    full = sample(CARD)
    full.summary.update(latency_ns={}, measured_latency_ns={}, stations={}, assumed=[])
    empty = replace(full, latency=full.latency[:0], timeline=full.timeline[:0], stations=full.stations[:0])
    page = open_page(build_page([empty], "nothing happened"))
    assert "pcie-p3700" in page.locator(".card").inner_text()
