"""Headless Chromium for the tests of pages: one for all tests of a process, for a new one compiles each page anew."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Open = Callable[..., Any]

#: What a page says of itself when none of its charts waits to be drawn.
_DRAWN = "[data-drawn]"

#: Tabs share a process, and it keeps what it has compiled: pages have the same scripts.
_ARGUMENTS = ["--no-sandbox", "--process-per-site", "--js-flags=--no-flush-bytecode"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    required = os.environ.get("TIERSIM_REQUIRE_BROWSER") == "1"
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        (pytest.fail if required else pytest.skip)("no chromium is installed")
    if not required:
        pytest.importorskip("playwright", reason="playwright is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield chromium
        chromium.close()


class Tabs:
    """Pages of one browser context, used again, each with one file for all that it opens: a browser compiles a script
    anew that comes from another address.
    """

    def __init__(self, browser: Any, folder: Path) -> None:
        self.folder = folder
        self.complaints: list[str] = []
        self.free: dict[bool, list[tuple[Any, Path]]] = {True: [], False: []}
        self.read: dict[tuple[object, ...], tuple[Any, Path]] = {}  # the last page that was asked for
        self.count = 0
        self.context = browser.new_context(offline=True)
        self.context.set_default_timeout(120_000)  # where others are at work on the machine, a page opens slowly
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])

    def take(self, *, whole: bool = True) -> tuple[Any, Path]:
        """Where a page is not drawn whole, only charts in view are: the others wait for an idle browser."""
        return self.free[whole].pop() if self.free[whole] else self._new(whole=whole)

    def _new(self, *, whole: bool) -> tuple[Any, Path]:
        page = self.context.new_page()
        if not whole:
            page.add_init_script("window.requestIdleCallback = () => 0")
        page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._dismissed)
        page.on(
            "request",
            lambda r: None if re.match("(file|blob|data):", r.url) else self.complaints.append(f"asked for {r.url}"),
        )
        self.count += 1
        return page, self.folder / f"{self.count}.html"

    def _dismissed(self, dialog: Any) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()


@pytest.fixture(scope="session")
def tabs(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tabs]:
    made = Tabs(browser, tmp_path_factory.mktemp("pages"))
    yield made
    made.context.close()


@pytest.fixture
def open_page(tabs: Tabs) -> Iterator[Open]:
    """Opens a page offline and anew, all of it drawn, or only what is in view; afterwards asserts that nothing
    complained and nothing went out.
    """
    taken: list[tuple[bool, tuple[Any, Path]]] = []
    tabs.complaints.clear()

    def opened(html: str, fragment: str = "", *, width: int = 1240, scheme: str = "light", whole: bool = True) -> Any:
        page, file = tabs.take(whole=whole)
        taken.append((whole, (page, file)))
        _open(page, file, html, fragment, width, scheme, _DRAWN if whole else "")
        return page

    yield opened
    for whole, place in reversed(taken):  # the first comes first again
        place[0].goto("about:blank")
        tabs.free[whole].append(place)
    assert tabs.complaints == []


@pytest.fixture
def read_page(tabs: Tabs) -> Iterator[Open]:
    """Gives a page that *open_page* would open, and the same one again: for tests that choose nothing on it."""
    tabs.complaints.clear()

    def opened(html: str, fragment: str = "", *, width: int = 1240, scheme: str = "light") -> Any:
        asked = (html, fragment, width, scheme)
        if asked not in tabs.read:
            place = tabs.read.popitem()[1] if tabs.read else tabs.take()
            place[0].goto("about:blank")  # from its own file to another part of it, a browser stays on what it has
            _open(*place, html, fragment, width, scheme, _DRAWN)
            tabs.read[asked] = place
        return tabs.read[asked][0]

    yield opened
    assert tabs.complaints == []


def _open(page: Any, file: Path, html: str, fragment: str, width: int, scheme: str, wait_for: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(media="null", color_scheme=scheme)
    page.mouse.move(0, 0)
    file.write_text(html, encoding="utf-8", newline="")
    page.goto(file.as_uri() + fragment)
    _arrived(page, wait_for)


def reload(page: Any) -> None:
    """Opens the page's address again, all of it drawn."""
    page.reload()
    _arrived(page, _DRAWN)


def _arrived(page: Any, wait_for: str) -> None:
    page.locator(f"html[data-ready]{wait_for}").wait_for(state="attached")


def drawn(page: Any, chart: str) -> Any:
    """What a chart shows: the values of its traces. They come as one text: Playwright wraps each value otherwise."""
    values = "['name', 'y', 'z', 'x'].map(key => [key, t[key] ?? null])"
    read = f"e => JSON.stringify(e.data.map(t => Object.fromEntries({values})))"
    return json.loads(page.eval_on_selector(f"#{chart}", read))


def text(page: Any, selector: str) -> str:
    """Visible text with plain blanks."""
    return " ".join(page.locator(selector).inner_text().split())


def unfolded(page: Any) -> str:
    """Text of where each figure comes from, with all its parts opened."""
    page.eval_on_selector_all("#known .fold", "all => all.forEach(one => { one.open = true; })")
    return text(page, "#known")


def numbers(page: Any, chart: str) -> list[list[list[str]]]:
    """The tables of a chart, opened: rows of cells, the head first."""
    details = page.locator(f"#{chart} ~ details")
    if details.get_attribute("open") is None:
        details.locator("summary").click()
    details.locator("tbody tr").first.wait_for()
    rows = "[...t.rows].map(r => [...r.cells].map(c => c.textContent))"
    read = f"e => JSON.stringify([...e.querySelectorAll('table')].map(t => {rows}))"
    tables: list[list[list[str]]] = json.loads(details.evaluate(read))
    return tables
