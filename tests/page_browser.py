"""Headless Chromium for the tests of pages: import the fixtures that a test asks for."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

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
        context.set_default_timeout(120_000)  # where others are at work on the machine, a page opens slowly
        context.grant_permissions(["clipboard-read", "clipboard-write"])
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


def drawn(page: Any, chart: str) -> Any:
    """What a chart shows: the values of its traces."""
    return page.eval_on_selector(f"#{chart}", "e => e.data.map(t => ({name: t.name, y: t.y, z: t.z, x: t.x}))")


def text(page: Any, selector: str) -> str:
    """Visible text with plain blanks."""
    return " ".join(page.locator(selector).inner_text().split())


def numbers(page: Any, chart: str) -> list[list[list[str]]]:
    """The tables of a chart, opened: rows of cells, the head first."""
    details = page.locator(f"#{chart} ~ details")
    if details.get_attribute("open") is None:
        details.locator("summary").click()
    details.locator("tbody tr").first.wait_for()
    read = "e => [...e.querySelectorAll('table')].map(t => [...t.rows].map(r => [...r.cells].map(c => c.textContent)))"
    tables: list[list[list[str]]] = details.evaluate(read)
    return tables
