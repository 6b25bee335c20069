"""The page: what is in it, that nothing breaks out of it, and what a browser makes of it."""

import itertools
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.page_samples import CARD, DISKS, SSDS, TOO_FEW_DISKS, sample, samples
from tiersim.cli.page import build_page
from tiersim.cli.page.payload import MOST_STATIONS, embedded_json, page_payload

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
    assert len(html.encode()) < 6_000_000
    assert len(embedded_json(page_payload(samples(), "x")).encode()) < 300_000


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


def test_only_the_busiest_stations_are_drawn() -> None:
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


def test_without_scripts_the_verdicts_can_be_read(html: str) -> None:
    spoken = html[html.index("<noscript>") : html.index("</noscript>")]
    assert "<b>7k2-raid1</b>: saturated." in spoken


# ---------------------------------------------------------------------------------------------------------- browser
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    required = os.environ.get("TIERSIM_REQUIRE_BROWSER") == "1"
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        (pytest.fail if required else pytest.skip)("no chromium is installed")
    if not required:
        pytest.importorskip("playwright", reason="playwright is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens a page offline; afterwards asserts that nothing complained and nothing went out."""
    complaints: list[str] = []
    contexts: list[Any] = []

    def dismissed(dialog: Any) -> None:
        complaints.append(dialog.message)
        dialog.dismiss()

    def opened(html: str, fragment: str = "", *, width: int = 1240, scheme: str = "light") -> Any:
        file = tmp_path / "page.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", dismissed)
        page.on(
            "request",
            lambda r: None if re.match("(file|blob|data):", r.url) else complaints.append(f"asked for {r.url}"),
        )
        page.goto(file.as_uri() + fragment)
        page.locator("html[data-ready]").wait_for(state="attached")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def _drawn(page: Any, chart: str) -> Any:
    """What a chart shows: the values of its traces."""
    return page.eval_on_selector(f"#{chart}", "e => e.data.map(t => ({name: t.name, y: t.y, z: t.z, x: t.x}))")


def _latencies(text: str) -> list[str]:
    return re.findall(r"\d\s*(?:ns|µs|ms|s)\b", text)


CHARTS = ("percentiles", "latency-time", "requests", "outstanding", "stations")


@pytest.mark.browser
@pytest.mark.parametrize("width", [1240, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_opens_offline_in_every_shape(html: str, open_page: Open, tmp_path: Path, width: int, scheme: str) -> None:
    page = open_page(html, width=width, scheme=scheme)
    overflow, inner = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert overflow <= inner
    for chart in CHARTS:
        assert _drawn(page, chart)
        assert page.locator(f"#{chart}-reading").inner_text()
        assert page.locator(f"#{chart} .main-svg").first.bounding_box()["width"] <= width
    light, dark = "rgb(252, 252, 251)", "rgb(19, 21, 25)"
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == (light if scheme == "light" else dark)
    page.screenshot(path=tmp_path / "page.png", full_page=True)
    assert (tmp_path / "page.png").stat().st_size > 50_000


@pytest.mark.browser
def test_scenario_and_purpose_change_what_is_drawn(html: str, open_page: Open) -> None:
    page = open_page(html)
    before = {chart: _drawn(page, chart) for chart in CHARTS}
    page.locator("#scenario").select_option(label="sas-ssd-x4")
    after = {chart: _drawn(page, chart) for chart in CHARTS}
    for chart in ("latency-time", "requests", "stations"):
        assert after[chart] != before[chart], chart
    assert "sas-ssd-x4" in page.locator("#percentiles-reading").inner_text()
    page.locator("#purpose").select_option("data read")
    assert _drawn(page, "percentiles") != after["percentiles"]
    assert _drawn(page, "latency-time") != after["latency-time"]
    page.locator("#compare").select_option(label="pcie-p3700")
    assert len(_drawn(page, "latency-time")) == 6
    page.locator("#measure").select_option("outstanding")
    assert _drawn(page, "stations") != after["stations"]
    page.locator(".card .choose").first.click()
    assert page.locator("#scenario").input_value() == "0"


@pytest.mark.browser
def test_the_address_keeps_the_state(html: str, open_page: Open) -> None:
    page = open_page(html)
    page.locator("#scenario").select_option(label="sas-ssd-x4")
    page.locator("#purpose").select_option("data read")
    page.locator("#compare").select_option(label="15k-raid10")
    page.locator("#statistic").select_option("p50")
    drawn = {chart: _drawn(page, chart) for chart in CHARTS}
    page.reload()
    page.locator("html[data-ready]").wait_for(state="attached")
    assert [page.locator(f"#{name}").input_value() for name in ("scenario", "purpose", "compare", "statistic")] == [
        "1", "data read", "0", "p50",
    ]  # fmt: skip
    assert {chart: _drawn(page, chart) for chart in CHARTS} == drawn
    odd = open_page(html, "#scenario=no+such&purpose=none&compare=%3Cb%3E")
    assert odd.locator("#scenario").input_value() == "0"


@pytest.mark.browser
def test_a_saturated_scenario_shows_no_latency(html: str, open_page: Open) -> None:
    page = open_page(html, "#scenario=7k2-raid1")
    card = page.locator(".card.saturated")
    assert "Saturated" in card.inner_text()
    assert _latencies(card.inner_text()) == []
    row = page.locator("#comparison tbody tr").last
    for statistic in ("mean", *PERCENTILES):
        page.locator("#statistic").select_option(statistic)
        assert "7k2-raid1" in row.inner_text()
        assert row.inner_text().count("saturated") == 5
        assert _latencies(row.inner_text()) == []
    assert "7k2-raid1" not in [trace["name"] for trace in _drawn(page, "percentiles")]
    assert {trace["name"] for trace in _drawn(page, "latency-time")} == {"mean"}
    page.locator("#percentiles ~ details summary").click()
    numbers = page.locator("#percentiles ~ details tr", has_text="7k2-raid1").inner_text()
    assert _latencies(numbers) == []


@pytest.mark.browser
def test_unresolved_percentiles_are_said_in_words(open_page: Open) -> None:
    result = sample(SSDS)
    unknown = {"value": None, "low": None, "high": None, "resolved": False, "basis": "simulated"}
    result.summary["latency_ns"]["log write"]["p99"] = unknown
    page = open_page(build_page([result], "short"))
    assert "not resolved" in page.locator(".card").inner_text()
    assert "not resolved" in page.locator("#comparison").inner_text()
    assert "too few" in page.locator("#percentiles-reading").inner_text().lower()


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


@pytest.mark.browser
def test_every_chart_has_its_numbers(html: str, open_page: Open) -> None:
    page = open_page(html)
    for chart in CHARTS:
        page.locator(f"#{chart} ~ details summary").click()
        page.locator(f"#{chart} ~ details tbody tr").nth(3).wait_for()


@pytest.mark.browser
def test_pointing_at_a_chart_tells_its_values(html: str, open_page: Open) -> None:
    page = open_page(html)
    for chart, said in (("percentiles", "%"), ("latency-time", "p99"), ("requests", "/s"), ("stations", "data.drive")):
        page.locator(f"#{chart} .nsewdrag").first.hover()
        assert said in (page.locator(f"#{chart} .hoverlayer").text_content(timeout=5000) or ""), chart


@pytest.mark.browser
def test_no_button_offers_to_send_a_chart_away(html: str, open_page: Open) -> None:
    buttons = open_page(html).eval_on_selector_all(".modebar-btn", "es => es.map(e => e.dataset.title)")
    assert len(buttons) == len(CHARTS)
    assert all(title.startswith("Download plot") for title in buttons)


@pytest.mark.browser
def test_it_works_from_the_keyboard(html: str, open_page: Open) -> None:
    page = open_page(html)
    page.locator("#scenario").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#scenario").input_value() == "1"
    assert "scenario=sas-ssd-x4" in page.url


@pytest.mark.browser
@pytest.mark.parametrize("width", [1240, 390])
@pytest.mark.parametrize("stations", [1, 2, 64])
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
