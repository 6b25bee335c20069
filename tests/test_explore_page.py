"""The page of an exploration in Chromium: changes, pins, search, saving, what happens when its server is gone."""

# ruff: noqa: F401, F811 - fixtures

import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.explorations import commits_of_pgbench, is_done, server, serving, small_recording, until
from tests.page_browser import text
from tests.test_explore import assert_equal
from tiersim.cli.exploring.server import ExplorationServer
from tiersim.devices import catalogue
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.replay import replay_all, survey_to_play
from tiersim.traces.bundle import Bundle

pytestmark = pytest.mark.browser

#: Random changes; after so many of them the figures are held against a replay of what is saved.
CHANGES, STOP_EACH = 1000, 20


@dataclass
class Tab:
    """The page, and what its browser complained of."""

    page: Any
    server: ExplorationServer
    complaints: list[str]

    @property
    def version(self) -> int:
        """How many changes have come to the server."""
        return self.server.view.explorer.state.version

    def settle(self, after: int = -1) -> None:
        """Wait until the last change is simulated and drawn; it is a later one than *after*."""
        explorer = self.server.view.explorer
        self.page.locator("html:not([data-asking])").wait_for(state="attached")
        until(explorer, lambda: explorer.state.version > after and is_done(explorer)())
        version, stage = explorer.state.version, explorer.state.stage
        self.page.locator(f'html[data-version="{version}"][data-stage="{stage}"]').wait_for(state="attached")
        if stage == "done":
            self.page.locator(f'html[data-picture="{version}"][data-drawn]').wait_for(state="attached")


@contextmanager
def opened(browser: Any, server: ExplorationServer) -> Iterator[Tab]:
    """A tab with the page of a server, once it is drawn."""
    context = browser.new_context(viewport={"width": 1500, "height": 950})
    context.set_default_timeout(60_000)
    page = context.new_page()
    made = Tab(page, server, [])
    page.on("console", lambda m: made.complaints.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: made.complaints.append(str(error)))
    own = f"http://127.0.0.1:{server.server_port}/"
    allowed = re.compile(rf"{re.escape(own)}|blob:|data:")
    page.on("request", lambda r: None if allowed.match(r.url) else made.complaints.append(f"asked for {r.url}"))
    page.goto(server.address)
    made.settle()
    yield made
    context.close()
    assert made.complaints == []


@pytest.fixture(scope="module")
def tab(browser: Any, server: ExplorationServer) -> Iterator[Tab]:
    with opened(browser, server) as made:
        yield made


@pytest.fixture
def own_tab(browser: Any, tmp_path: Path) -> Iterator[Tab]:
    """A tab whose server no other test has: where the changes end is no state for the others to begin with."""
    with serving(tmp_path, "15k-raid10", "pcie-flash") as server, opened(browser, server) as made:
        yield made


def wait_for(page: Any, expression: str) -> None:
    """Wait until *expression* is true; what Playwright has for it needs `eval`, which the page's policy forbids."""
    deadline = time.monotonic() + 60
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(50)


def control(tab: Tab, key: str) -> Any:
    return tab.page.locator(f'[id="{key}"]')


@pytest.mark.long
def test_the_first_view_has_the_figures_of_the_first_scenario_and_the_pinned_one(tab: Tab) -> None:
    assert text(tab.page, "#status") == "Figures of the whole recording."
    assert [one.split()[0] for one in tab.page.locator(".card .name").all_inner_texts()] == ["Now", "A"]
    assert "token" not in tab.page.url
    assert "16 × 15K" in text(tab.page, ".card >> nth=0")


@pytest.mark.long
def test_a_slider_is_moved_by_the_keyboard_and_the_figures_follow(tab: Tab) -> None:
    count = control(tab, "volumes.data.count")
    count.focus()
    for _ in range(4):
        before = tab.version
        tab.page.keyboard.press("ArrowLeft")
        tab.settle(before)
    assert tab.server.view.explorer.state.draft.values["volumes"]["data"]["count"] == 8
    assert text(tab.page, ".card >> nth=0").count("8 × ") == 1
    assert tab.page.evaluate("document.activeElement.id") == "volumes.data.count"


def test_a_slider_says_what_is_simulated_between_and_beyond_its_places(own_tab: Tab) -> None:
    changes = {"volumes.data.count": 48, "replay.load": 1.3, "controllers.raid.cache": "1 GB"}
    own_tab.server.view.explorer.change(changes)
    own_tab.settle()
    said = {key: text(own_tab.page, f'output[for="{key}"]') for key in ("volumes.data.count", "replay.load")}
    assert said == {"volumes.data.count": "48", "replay.load": "1.3 × recorded"}
    drag = control(own_tab, "controllers.raid.cache-drag")
    assert (drag.input_value(), drag.get_attribute("aria-valuetext")) == ("6", "1 GB")  # beside 1 GiB


def test_every_control_has_a_name(tab: Tab) -> None:
    nameless = tab.page.evaluate(
        """() => [...document.querySelectorAll('#explore :is(input, select, button)')].filter(one =>
        !one.labels?.length && !one.ariaLabel && !one.textContent.trim()).map(one => one.id)"""
    )
    assert nameless == []


def test_a_device_is_chosen_by_its_name_and_a_wrong_one_is_one_sentence(tab: Tab) -> None:
    device = control(tab, "volumes.data.device")
    device.fill("intel-p3700")
    device.press("Enter")
    tab.page.locator("#problem:not([hidden])").wait_for()
    assert text(tab.page, "#problem").endswith("did you mean 'intel-p3700-800'?")
    before = tab.version
    device.fill("intel-p3700-800")
    device.press("Enter")
    tab.settle(before)
    assert not tab.page.locator("#problem").is_visible()
    assert "NVMe" in text(tab.page, ".specification")


def test_a_device_is_found_in_the_catalogue_by_what_it_is_and_costs(tab: Tab) -> None:
    tab.page.get_by_role("button", name="Choose from the catalogue").click()
    rows = tab.page.locator("#devices-found tbody tr")
    assert rows.count() == len(catalogue.names())
    tab.page.locator("#most-price").fill("300")
    tab.page.locator("#devices-found thead .sort", has_text="Price (USD)").click()
    prices = [int(one.replace(",", "")) for one in tab.page.locator("#devices-found td:nth-child(6)").all_inner_texts()]
    assert prices == sorted(prices)
    assert 0 < prices[-1] <= 300
    tab.page.locator("#devices-found-find").fill("nvme pcie 4.0")
    before = tab.version
    rows.nth(0).get_by_role("button").click()
    tab.settle(before)
    assert not tab.page.locator("#catalogue").is_visible()
    assert tab.server.view.explorer.state.draft.values["volumes"]["data"]["device"] == "crucial-t500-2000"


def test_a_cap_is_dragged_and_left_out(tab: Tab) -> None:
    own, explorer = tab.page.locator('#settings [id$=".iops-drag"]'), tab.server.view.explorer
    key = own.get_attribute("id").removesuffix("-drag")
    own.focus()
    for pressed, wanted in (("End", 512_000), ("ArrowLeft", 256_000), ("Home", None)):
        before = tab.version
        tab.page.keyboard.press(pressed)
        tab.settle(before)
        assert {one.key: one.value for one in explorer.controls()}[key] == wanted
        assert control(tab, key).input_value() == str(wanted or "")


def test_a_field_that_is_cleared_with_enter_is_empty(tab: Tab) -> None:
    tab.server.view.explorer.begin_with("15k-raid10")
    tab.settle()
    cache = control(tab, "controllers.raid.cache")
    assert cache.input_value() == "256 MiB"
    before = tab.version
    cache.fill("")
    cache.press("Enter")
    tab.settle(before)
    assert cache.input_value() == ""
    assert control(tab, "controllers.raid.cache-drag").input_value() == "0"
    cache.fill("1 G")  # and is not sent yet
    tab.server.view.explorer.change({"replay.load": 1.5})
    tab.settle(before + 1)
    assert cache.input_value() == "1 G"
    cache.press("Control+A")
    cache.press("Delete")
    tab.server.view.explorer.change({"replay.load": None})
    tab.settle(before + 2)


def test_figures_are_pinned_compared_and_dropped(tab: Tab) -> None:
    tab.page.locator("#pin").click()
    tab.page.locator("#pins li >> nth=1").wait_for()
    tab.page.locator(".card >> nth=2").wait_for()
    tab.page.locator("#compare").select_option(label="B")
    assert text(tab.page, "#pair-title") == "Now against B"
    tab.page.get_by_role("button", name="Drop B").click()
    tab.page.locator(".card >> nth=2").wait_for(state="detached")


def test_the_cheapest_hardware_is_found_in_few_actions(tab: Tab) -> None:
    tab.page.locator("#target").fill("p95(unknown) < 2 ms")
    tab.page.keyboard.press("Enter")
    tab.page.locator("#found table").wait_for()
    search = tab.server.view.explorer.state.search
    assert search is not None
    (doubts,) = (one["doubts"] for one in search["document"]["candidates"] if one["status"] == "chosen")
    assert doubts  # of a p95 without a calibration nobody knows the error
    assert f"In doubt: {'; '.join(doubts)}." in text(tab.page, "#found")
    before = tab.version
    tab.page.locator("#found button").first.click()
    tab.settle(before)
    assert not tab.page.locator("#problem").is_visible()
    drawn = tab.server.view.explorer.state.picture
    assert drawn is not None
    assert drawn.result.summary["latency_ns"]["unknown"]["p95"]["value"] < 2e6


def test_a_click_leads_to_the_reasons(tab: Tab) -> None:
    chart = tab.page.locator("#stations")
    chart.scroll_into_view_if_needed()
    wait_for(tab.page, "document.querySelector('#stations .heatmaplayer image, #stations .hm image')")
    box = chart.bounding_box()
    tab.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    wait_for(tab.page, "document.activeElement.id === 'why'")
    assert "Busiest parts" in text(tab.page, "#why")


def test_a_bar_that_is_clicked_leads_to_the_reasons_of_its_scenario(tab: Tab) -> None:
    tab.page.evaluate("document.querySelector('#stations').emit('plotly_click', {points: [{customdata: 1}]})")
    assert text(tab.page, "#why-title").endswith(" on A")
    assert tab.page.evaluate("document.activeElement.id") == "why"
    tab.page.locator("#scenario").select_option(label="Now")


def test_a_window_behind_the_end_of_a_sample_shows_all_of_it(tab: Tab) -> None:
    tab.page.evaluate("document.querySelector('#outstanding').emit('plotly_relayout', {'xaxis.range': [200, 400]})")
    start, end = tab.page.evaluate("document.getElementById('outstanding').layout.xaxis.range")
    assert start == 0
    assert 0 < end < 200
    tab.page.locator("#whole-run").click()


def test_a_window_of_time_is_brushed_on_all_charts(tab: Tab) -> None:
    tab.page.evaluate("document.querySelector('#outstanding').emit('plotly_relayout', {'xaxis.range': [2, 4]})")
    ranges = tab.page.evaluate("['outstanding', 'requests'].map(id => document.getElementById(id).layout.xaxis.range)")
    assert ranges == [[2, 4], [2, 4]]
    tab.page.locator("#whole-run").click()


def test_scenario_and_page_are_saved(tab: Tab, browser: Any) -> None:
    tab.page.locator("#name").fill("from-the-page")
    tab.page.locator("#save").click()
    tab.page.locator("#saved", has_text="from-the-page.toml").wait_for()
    tab.page.locator("#export").click()
    tab.page.locator("#saved", has_text="from-the-page.html").wait_for()
    tab.page.locator("#save").click()
    tab.page.locator("#saved.problem", has_text="is there already").wait_for()
    offline = browser.new_page()
    offline.goto((tab.server.view.folder / "from-the-page.html").as_uri())
    offline.locator("html[data-ready]").wait_for(state="attached")
    assert offline.locator(".card").count() == tab.page.locator(".card").count()
    offline.close()


@pytest.mark.parametrize("width", [390, 1500])
def test_nothing_sticks_out_of_the_window(tab: Tab, width: int) -> None:
    tab.page.set_viewport_size({"width": width, "height": 900})
    wait_for(tab.page, "document.documentElement.scrollWidth <= innerWidth")
    tab.page.set_viewport_size({"width": 1500, "height": 950})


def test_a_reload_shows_the_same_and_a_second_browser_nothing(tab: Tab, browser: Any) -> None:
    before = text(tab.page, ".card >> nth=0")
    tab.page.reload()
    tab.settle()
    assert text(tab.page, ".card >> nth=0") == before
    stranger = browser.new_context().new_page()
    stranger.goto(tab.server.address)
    assert "opened before" in stranger.inner_text("body")
    stranger.context.close()


def _random_change(tab: Tab, rng: random.Random) -> None:
    """Do one thing that a person might do to a control that is there."""
    inputs = tab.page.locator("#settings :is(input, select)")
    one = inputs.nth(rng.randrange(inputs.count()))
    key, kind = one.get_attribute("id"), one.evaluate("e => e.type")
    if kind == "range":
        one.evaluate(
            "(e, share) => { e.value = Math.round(share * e.max); e.dispatchEvent(new Event('input')); }", rng.random()
        )
    elif kind == "select-one":
        options = one.locator("option").count()
        if options:  # else the controls have changed meanwhile
            one.select_option(index=rng.randrange(options), timeout=2000)
    else:
        values = {
            "device": ["intel-p3700-800", "seagate-cheetah-15k7-300", "aws-gp3", "crucial-t500-2000", "nonsense"],
            "cache": ["", "64 MiB", "1 GiB", "much"], "iops": ["", "4000", "20000"], "size": ["", "800 GiB", "1 B"],
            "throughput": ["", "200 MB/s", "1 GB/s"],
        }  # fmt: skip
        one.fill(rng.choice(values.get(key.rpartition(".")[2], [""])), timeout=2000)
        one.evaluate("e => e.dispatchEvent(new Event('change'))")


@pytest.mark.long
def test_a_thousand_random_changes_end_in_the_figures_of_a_replay(own_tab: Tab) -> None:
    rng, explorer = random.Random(2), own_tab.server.view.explorer
    bundle = Bundle(own_tab.server.view.folder.parent / "made-up.trace")
    for number in range(1, CHANGES + 1):
        try:
            _random_change(own_tab, rng)
        except Exception as error:  # the server's answer has changed the controls meanwhile
            if not re.search("not attached|Timeout|not an? <input>|cannot be filled|not a <select>", str(error)):
                raise
        own_tab.page.wait_for_timeout(rng.choice([0, 20, 150]))
        if number % STOP_EACH:
            continue
        own_tab.page.wait_for_timeout(200)
        own_tab.settle()
        if explorer.state.stage == "failed":
            assert text(own_tab.page, "#problem")
            explorer.begin_with("15k-raid10")
            own_tab.settle()
        picture = explorer.state.picture
        assert picture is not None
        name = f"stop-{number}"
        saved = load_scenario(str(own_tab.server.view.save_scenario(name)))
        playback = survey_to_play(bundle, [saved])
        assert_equal(picture.result, replay_all(playback.found, [saved], workers=1, playback=playback)[0])
    assert own_tab.complaints == []


@pytest.mark.long
def test_the_cheapest_storage_for_commits_below_2_ms_takes_a_new_user_three_actions(
    tmp_path: Path, browser: Any
) -> None:
    """The page proposes the target: search, use what was found, save it."""
    with serving(tmp_path, "15k-raid10", record=commits_of_pgbench) as own:
        page = browser.new_context(viewport={"width": 1500, "height": 950}).new_page()
        page.goto(own.address)
        page.locator("html[data-stage=done][data-picture][data-drawn]").wait_for(state="attached")
        page.evaluate(
            """() => {
                window.actions = 0;
                const note = () => { window.actions++; };
                for (const kind of ['pointerdown', 'keydown', 'input']) addEventListener(kind, note, true);
            }"""
        )
        assert page.locator("#target").input_value() == "p95(log sync) < 2 ms"
        page.get_by_role("button", name="Search").click()
        page.locator("#found button").first.click(timeout=120_000)
        explorer = own.view.explorer
        until(explorer, lambda: explorer.state.version > 0 and is_done(explorer)())
        page.get_by_role("button", name="Save scenario (TOML)").click()
        page.locator("#saved", has_text=".toml").wait_for()
        assert page.evaluate("window.actions") == 3
        saved = load_scenario(str(next(own.view.folder.glob("*.toml"))))
        bundle = Bundle(tmp_path / "pgbench.trace")
        playback = survey_to_play(bundle, [saved])
        (found,) = replay_all(playback.found, [saved], workers=1, playback=playback)
        assert found.summary["latency_ns"]["log sync"]["p95"]["value"] < 2e6
        page.context.close()


@pytest.mark.long
def test_a_server_that_is_gone_is_said_and_the_figures_stay(tmp_path: Path, browser: Any) -> None:
    with serving(tmp_path, "pcie-flash", idle_s=8.0) as own:
        page = browser.new_context().new_page()
        page.goto(own.address)
        page.locator("html[data-stage=done][data-picture][data-drawn]").wait_for(state="attached")
        page.locator("html.gone").wait_for(state="attached", timeout=30_000)
        assert text(page, "#problem").startswith("Nobody changed anything for")
        assert page.locator(".card").count() == 1
        page.context.close()


@pytest.mark.long
def test_a_server_that_is_killed_is_said_and_the_figures_stay(tmp_path: Path, browser: Any) -> None:
    command = [sys.executable, "-c", "from tiersim.cli.main import main; main()", "explore"]
    command += [str(small_recording(tmp_path)), "--on", "pcie-flash", "-o", str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}) as process:
        assert process.stderr is not None
        address = next(found.group() for line in process.stderr if (found := re.search(r"http://127\S+", line)))
        page = browser.new_context().new_page()
        page.goto(address)
        page.locator("html[data-stage=done][data-picture][data-drawn]").wait_for(state="attached")
        process.kill()
        page.locator("html.gone").wait_for(state="attached", timeout=30_000)
        assert text(page, "#problem").startswith("The server does not answer. The figures stay")
        assert page.locator(".card").count() == 1
        page.context.close()
