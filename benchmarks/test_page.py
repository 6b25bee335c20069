"""The page of a result of ten million requests: how large, how long to build, how long until it can be used."""

import shutil
import time
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.page_large import large_result
from tiersim.cli.page import build_page

REQUESTS = 10_000_000


def test_ten_million_requests_on_a_page(tmp_path: Path, benchmark: BenchmarkFixture) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium is installed")
    began = time.perf_counter()
    result = large_result(tmp_path, REQUESTS, per_s=20_000.0)
    simulated_s = time.perf_counter() - began
    html = benchmark.pedantic(lambda: build_page([result], "ten million"), rounds=3)
    (tmp_path / "page.html").write_text(html, encoding="utf-8")

    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        opened = []
        for _ in range(3):
            page = chromium.new_page(viewport={"width": 1240, "height": 900})
            began = time.perf_counter()
            page.goto((tmp_path / "page.html").as_uri())
            page.locator("html[data-ready]").wait_for(state="attached")
            opened.append(time.perf_counter() - began)
            began = time.perf_counter()
            page.locator("#purpose").select_option("data read")
            page.locator("#percentiles-title", has_text="data reads").wait_for()
            changed_s = time.perf_counter() - began
            page.close()
        chromium.close()
    benchmark.extra_info |= {
        "page_bytes": len(html.encode()),
        "seconds_until_ready": round(min(opened), 2),
        "seconds_to_change_the_purpose": round(changed_s, 2),
        "seconds_to_make_and_replay_the_trace": round(simulated_s, 1),
    }
    assert result.summary["commands"] == REQUESTS
    assert len(html.encode()) < 6_000_000
