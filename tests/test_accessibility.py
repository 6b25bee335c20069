"""Pages under axe-core, dark, light, and in a narrow window: names, roles, contrast, order of headings."""

# ruff: noqa: F401, F811 - fixtures

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.explorations import is_done, server, serving, until
from tests.page_browser import Open
from tests.page_samples import CARD, DISKS, samples
from tiersim.cli.exploring.server import ExplorationServer
from tiersim.cli.page import build_page

pytestmark = pytest.mark.browser

#: Width of the window, and colours.
WINDOWS = [(1240, "light"), (1240, "dark"), (390, "light"), (390, "dark")]


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core, which CI fetches: `npm pack axe-core`, and TIERSIM_AXE names axe.min.js of it. Tests ask
    for it first, for without it no browser is begun.
    """
    file = os.environ.get("TIERSIM_AXE")
    if file is None:
        if os.environ.get("TIERSIM_REQUIRE_BROWSER") == "1":
            pytest.fail("TIERSIM_AXE does not name axe.min.js")
        pytest.skip("TIERSIM_AXE does not name axe.min.js")
    return Path(file).read_text(encoding="utf-8")


def violations(page: Any, axe: str) -> list[str]:
    """What axe-core complains of: a rule, and the first elements that break it."""
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [
        f"{one['id']}: {one['help']}: {[(node['target'], node['failureSummary']) for node in one['nodes'][:3]]}"
        for one in found
    ]


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), WINDOWS)
def test_the_offline_page_has_no_violations(axe: str, open_page: Open, width: int, scheme: str) -> None:
    page = open_page(build_page(samples((DISKS, CARD)), "two tiers"), width=width, scheme=scheme)
    found = violations(page, axe)
    assert not found, "\n".join(found)


@pytest.fixture(scope="module")
def explored(browser: Any, server: ExplorationServer) -> Iterator[Any]:
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(server.address)
    yield page
    context.close()


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), WINDOWS)
def test_the_page_of_an_exploration_has_no_violations(axe: str, explored: Any, width: int, scheme: str) -> None:
    explored.set_viewport_size({"width": width, "height": 900})
    explored.emulate_media(color_scheme=scheme)
    explored.reload()
    explored.locator("html[data-stage=done][data-picture][data-drawn]").wait_for(state="attached")
    found = violations(explored, axe)
    assert not found, "\n".join(found)


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), WINDOWS)
def test_the_catalogue_of_an_exploration_has_no_violations(axe: str, explored: Any, width: int, scheme: str) -> None:
    explored.set_viewport_size({"width": width, "height": 900})
    explored.emulate_media(color_scheme=scheme)
    explored.reload()
    explored.locator("html[data-stage=done][data-picture][data-drawn]").wait_for(state="attached")
    explored.get_by_role("button", name="Choose from the catalogue").first.click()
    explored.locator("#catalogue[open]").wait_for()
    found = violations(explored, axe)
    assert not found, "\n".join(found)
