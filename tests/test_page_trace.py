"""The page of a trace, and the plots for notebooks: the same numbers in both."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests import plot_tables
from tests.examples import first
from tests.marked import between
from tests.page_browser import Open, drawn, numbers, reload, text
from tests.page_description import description
from tests.page_samples import CARD, DISKS, TOO_FEW_DISKS, sample
from tiersim.cli import plots
from tiersim.cli.main import app
from tiersim.cli.page import build_trace_page
from tiersim.cli.page.figure_style import PALETTE
from tiersim.cli.page.payload import page_payload
from tiersim.cli.page.trace_payload import trace_payload
from tiersim.traces.bundle import Bundle
from tiersim.traces.description import describe
from tiersim.traces.readers import import_trace

HOSTILE = "</script><img src=x onerror=alert(1)>&amp;%{x}'\""
CHARTS = (
    "rates",
    "sizes",
    "latency-cdf",
    "latency-by-size",
    "depth-over-time",
    "depth",
    "burstiness",
    "working-set",
    "re-reference",
)
ABSENT_ALONE = sorted(description().keys() - {"schema", "trace", "requests", "span_ns"})


@pytest.fixture(scope="module")
def html() -> str:
    return build_trace_page(description(), "a small trace")


def _readings() -> dict[str, str]:
    return {chart["id"]: chart["reading"] for chart in trace_payload(description(), "x")["charts"]}


# --------------------------------------------------------------------------------------------------------- readings
def test_readings_are_computed() -> None:
    said = _readings()
    # 1000 arrivals in 9.5 s; 310 of them between 3 s and 4 s, 300 of them reads
    assert (
        said["rates"]
        == "On average 105/s; the busiest 1 s, from 3 s on, has 310/s (2.9 times), 97 % of them data read."
    )
    assert said["sizes"].startswith("90 % of the requests with a length have 8 KiB.")
    assert (
        "Half of data read end within 1 ms and 99 % within 8 ms; log write: 200 µs and 400 µs." in said["latency-cdf"]
    )
    assert "The tail of data read, log write rests on fewer than ten requests." in said["latency-cdf"]
    assert (
        said["depth"]
        == "In 60 % of the time nothing is in flight, in 1.0 % eight requests or more; at most 9 at one time."
    )
    assert "windows of 100 ms vary 20 times as much as independent (Poisson) arrivals" in said["burstiness"]
    assert said["working-set"].startswith("4 MiB distinct: 3 MiB read, 1.5 MiB written, 512 KiB both.")
    assert said["working-set"].endswith("the recording has not seen the whole working set.")
    assert said["re-reference"].startswith("60 % of the pages read had been touched before; 50 % of the pages written")
    assert "come back within 4.19 ms" in said["re-reference"]  # 300 of 1080 within 2.1 ms, all within 4.2 ms


def test_poisson_arrivals_are_not_called_bursty() -> None:
    calm = description()
    calm["burstiness"]["dispersion"] = [[1_000_000, 1.02], [10_000_000, 0.97]]
    (reading,) = (chart["reading"] for chart in trace_payload(calm, "x")["charts"] if chart["id"] == "burstiness")
    assert "no burstier than independent ones" in reading


def test_the_last_interval_may_be_short() -> None:
    (rates,) = (chart for chart in trace_payload(description(), "x")["charts"] if chart["id"] == "rates")
    reads = next(trace for trace in rates["data"] if trace["name"] == "data read")
    assert reads["y"] == [90] * 3 + [300] + [60] * 6  # 30 in the last half second
    assert reads["x"][-1] == 9.25


@pytest.mark.parametrize("key", ABSENT_ALONE)
def test_any_part_of_a_description_may_be_absent(key: str) -> None:
    for broken in ({**description(), key: None}, {k: v for k, v in description().items() if k != key}):
        payload = trace_payload(broken, "x")
        assert {chart["id"] for chart in payload["charts"]} <= set(CHARTS)
        assert len(payload["charts"]) + len(payload["absent"]) == len(CHARTS)


def test_many_requests_in_flight_are_no_power_of_ten() -> None:
    deep = description()
    deep["depth"] |= {"mean": 123.4}
    assert "; 123 requests are in flight on average" in dict(trace_payload(deep, "x")["lead"])["How hard does it push?"]


def test_estimates_are_called_estimates() -> None:
    sampled = description()
    sampled["working_set"] |= {"estimated": True, "sampled_share": 0.125}
    payload = trace_payload(sampled, "x")
    chart = next(chart for chart in payload["charts"] if chart["id"] == "working-set")
    assert chart["reading"].startswith("An estimated 4 MiB distinct")
    assert chart["data"][0]["line"]["dash"] == "dash"
    assert "estimates from 12 % of the places" in dict(payload["lead"])["How sure is that?"]


# ---------------------------------------------------------------------------------------------------------- plots
def test_plots_hold_the_numbers_of_the_report() -> None:
    results = [sample(DISKS), sample(CARD), sample(TOO_FEW_DISKS)]
    scenarios = page_payload(results, "x")["scenarios"]
    over_time = plots.latency_over_time(results, "data read")
    assert [trace.name for trace in over_time.data] == ["15k-raid10: p99", "pcie-p3700: p99", "7k2-raid1: mean"]
    assert list(over_time.data[0].y) == scenarios[0]["time"]["by_class"]["data read"]["p99_us"]
    curves = plots.latency_percentiles(results, "data read")
    assert "7k2-raid1" not in [trace.name for trace in curves.data]
    strong = next(trace for trace in curves.data if trace.name == "15k-raid10")
    expected = scenarios[0]["curves"]["data read"]
    assert list(strong.y) == [us if one else None for us, one in zip(expected["us"], expected["resolved"], strict=True)]
    recorded = next(trace for trace in curves.data if trace.name.startswith("recorded: "))
    measured_ns = page_payload(results, "x")["traces"][0]["measured_latency_ns"]["data read"]
    assert recorded.y[0] == measured_ns["p50"] / 1e3
    busy = plots.utilisation(results).data[1]
    assert list(busy.y) == scenarios[1]["stations"]["rows"][0]["busy_pct"]
    time = scenarios[0]["time"]
    first = sum(one["completions"][0] for one in time["by_class"].values()) / time["end_s"][0]
    assert plots.throughput(results).data[1].y[0] == pytest.approx(first)


def test_a_comparison_divides_the_first_by_the_second() -> None:
    a, b = sample(DISKS), sample(CARD)
    found = plots.comparison(a, b)
    p50 = next(trace for trace in found.data if trace.name == "p50")
    at = list(p50.y).index("data read")
    both = [one.summary["latency_ns"]["data read"]["p50"]["value"] for one in (a, b)]
    assert p50.x[at] == pytest.approx(both[0] / both[1], rel=1e-3)


def test_plots_refuse_what_they_cannot_draw() -> None:
    with pytest.raises(ValueError, match="no 'reads' in these results; there are log write, "):
        plots.latency_percentiles(sample(CARD), "reads")
    other = sample(CARD)
    other.summary["trace"] = {**other.summary["trace"], "hash": "another"}
    with pytest.raises(ValueError, match="different traces"):
        plots.comparison(sample(DISKS), other)
    with pytest.raises(ValueError, match="at least one result"):
        plots.throughput([])


def test_every_public_plot_is_documented_and_works_on_nothing() -> None:
    assert between(plot_tables.DOCUMENT.read_text(encoding="utf-8"), "plots") == plot_tables.table()
    nothing = {"trace": "x", "requests": 0, "span_ns": 1}
    for name in (
        "rates",
        "sizes",
        "latency_cdf",
        "latency_by_size",
        "depth",
        "depth_over_time",
        "burstiness",
        "working_set",
        "re_reference",
    ):
        assert len(getattr(plots, name)(nothing).data) == 0
        assert len(getattr(plots, name)(description()).data) > 0


def test_importing_plots_loads_nothing_heavy() -> None:
    code = "import sys, tiersim.cli.plots; print(*sorted({'plotly', 'numba', 'pyarrow', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == []


def test_notebooks_and_pages_have_the_same_colours() -> None:
    style = (Path(__file__).parents[1] / "cli" / "page" / "page.css").read_text()
    light = style.split(":root[data-theme")[0]
    assert tuple(re.findall(r"--series-\d: (#\w+);", light)) == PALETTE


# ---------------------------------------------------------------------------------------------------------- command
def test_describe_writes_a_page(tmp_path: Path) -> None:
    capture, page = Path(__file__).parent / "data" / "vda.blktrace.0", tmp_path / "trace.html"
    done = CliRunner().invoke(app, ["describe", str(capture), "-o", str(page), "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["schema"] == "tiersim.description/1"
    assert "A trace, described by tiersim" in page.read_text()
    again = CliRunner().invoke(app, ["describe", str(capture), "-o", str(page)])
    assert again.exit_code == 1
    assert "--force" in str(again.exception)


# ---------------------------------------------------------------------------------------------------------- browser
@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1240, "light"), (390, "dark")])
def test_opens_offline_in_every_shape(html: str, read_page: Open, width: int, scheme: str) -> None:
    page = read_page(html, width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert [plot.get_attribute("id") for plot in page.locator(".plot").all()] == list(CHARTS)
    for chart in CHARTS:
        assert text(page, f"#{chart}-reading")
        assert page.locator(f"#{chart} .main-svg").first.bounding_box()["width"] <= width
    assert "not a prediction" in text(page, "#lead")
    assert "3 completions had no request" in text(page, "#known")
    assert "others (7)" in text(page, "#groups")
    assert "not recorded" in text(page, "#groups")


@pytest.mark.long
@pytest.mark.browser
def test_tables_hold_the_numbers_of_their_charts(html: str, read_page: Open) -> None:
    page = read_page(html)
    rates = numbers(page, "rates")[0]
    reads = next(trace for trace in drawn(page, "rates") if trace["name"] == "data read")
    assert [float(row[1]) for row in rates[1:]] == reads["y"]
    cdf = [row for row in numbers(page, "latency-cdf")[0] if row[0] == "log write"]
    line = next(trace for trace in drawn(page, "latency-cdf") if trace["name"] == "log write")
    assert [(float(row[1]), float(row[2])) for row in cdf] == list(zip(line["x"][1:], line["y"][1:], strict=True))
    depth = numbers(page, "depth")[0]
    assert [float(row[1]) for row in depth[1:]] == drawn(page, "depth")[0]["y"]
    assert [row[1] for row in numbers(page, "burstiness")[0][1:]] == ["1.5", "4", "20", "–", "–"]
    assert float(numbers(page, "working-set")[0][-1][1]) == drawn(page, "working-set")[0]["y"][-1] == 4_194_304


@pytest.mark.long
@pytest.mark.browser
def test_zoom_and_theme_stand_in_the_address(html: str, open_page: Open) -> None:
    page = open_page(html)
    page.locator("#theme").focus()
    page.keyboard.press("Enter")
    page.evaluate("Plotly.relayout('rates', {'xaxis.range[0]': 2, 'xaxis.range[1]': 5})")
    reload(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    for chart in ("rates", "depth-over-time", "working-set"):
        assert page.eval_on_selector(f"#{chart}", "e => e._fullLayout.xaxis.range") == [2, 5]
    page.locator("#whole-run").click()
    assert page.eval_on_selector("#rates", "e => e._fullLayout.xaxis.range") == [0, 9.5]


@pytest.mark.browser
def test_hostile_names_are_shown_as_they_are(open_page: Open) -> None:
    hostile = description()
    for key in ("classes", "files", "streams"):
        hostile[key][0]["name"] = HOSTILE
    hostile["trace"] = HOSTILE
    hostile["inferred"] = hostile["warnings"] = [HOSTILE]
    hostile["timeline"]["by_class"][HOSTILE] = hostile["timeline"]["by_class"].pop("data read")
    hostile["latency"][HOSTILE] = hostile["latency"].pop("data read")
    page = open_page(build_trace_page(hostile, HOSTILE), width=390)
    assert page.locator("img").count() == 0
    assert page.locator("h1").text_content() == HOSTILE
    assert HOSTILE.replace("%{", "% {") in [
        node.text_content() for node in page.locator("#rates-title ~ *, .legend-item").all()
    ]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#latency-cdf .nsewdrag").first.hover()


@pytest.mark.browser
def test_paper_is_light_with_open_tables(html: str, open_page: Open, tmp_path: Path) -> None:
    page = open_page(html, scheme="dark")
    page.pdf(path=tmp_path / "trace.pdf", prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page[^s]", (tmp_path / "trace.pdf").read_bytes())) >= 4
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("details.numbers-of[open]").count() == len(CHARTS)


@pytest.mark.browser
def test_a_description_of_nothing_is_still_a_page(open_page: Open) -> None:
    page = open_page(build_trace_page({"trace": "x.trace", "requests": 0, "span_ns": 0}, "nothing"))
    assert "No requests were recorded." in text(page, "#lead")
    assert "Requests over time" in text(page, "#known")
    assert page.locator(".plot").count() == 0


@pytest.fixture(scope="module")
def counters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The description of counters alone."""
    recorded, target = Path(__file__).parent / "data" / "recorded", tmp_path_factory.mktemp("counters") / "pg.trace"
    import_trace([recorded / "before", recorded / "after"], target)
    return describe(Bundle(target))


def test_counters_alone_have_charts_of_their_own(counters: dict[str, Any]) -> None:
    payload = trace_payload(counters, "counters")
    assert [chart["id"] for chart in payload["charts"]] == ["query-time", "relation-reads"]
    assert payload["absent"] == []
    assert {group["id"] for group in payload["groups"]} >= {"queries", "relations"}
    (queries,) = [group for group in payload["groups"] if group["id"] == "queries"]
    assert queries["copy"]["rows"][0][1] == 2828  # calls of the query with most time
    bars = {trace["name"]: trace["y"][0] for trace in payload["charts"][0]["data"]}
    assert sum(bars.values()) == pytest.approx(counters["counted"]["queries"][0]["exec_ms"] / 1000, rel=1e-4)
    assert all(chart["reading"] for chart in payload["charts"])
    assert any(
        "operating system" in text for title, texts in payload["known"] if title == "Not known" for text, _ in texts
    )


@pytest.mark.browser
@pytest.mark.parametrize("width", first(1, 390, 1240))
def test_counters_alone_are_a_page(counters: dict[str, Any], open_page: Open, width: int) -> None:
    page = open_page(build_trace_page(counters, "counters"), width=width)
    assert "UPDATE pgbench_accounts" in text(page, "#groups")
    assert page.locator(".plot").count() == 2
    assert not page.locator("#charts .hint").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.fixture(scope="module")
def sqlserver(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The description of a SQL Server's views and executions."""
    recorded, target = Path(__file__).parent / "data" / "sqlserver", tmp_path_factory.mktemp("counters") / "ms.trace"
    names = ("index_operational_stats.csv", "trace_table.csv")
    views = [*sorted(recorded.glob("dm_*.csv")), *(recorded / name for name in names)]
    import_trace(views, target)
    return describe(Bundle(target))


def test_sql_server_has_tables_of_files_waits_and_indexes(sqlserver: dict[str, Any]) -> None:
    payload = trace_payload(sqlserver, "sqlserver")
    tables = {group["id"]: group for group in payload["groups"]}
    assert tables.keys() >= {"queries", "executions", "files", "waits", "indexes"}
    assert tables["files"]["rows"][0] == [
        "E:\\log\\shop.ldf", "log", "shop", "256 MiB", "0", "not measured", "0 B/s", "60,000", "700 µs", "400 KiB/s",
    ]  # fmt: skip
    assert [row[0] for row in tables["waits"]["rows"]] == ["WRITELOG", "PAGEIOLATCH_SH"]  # no waits for work
    (time,) = [chart for chart in payload["charts"] if chart["id"] == "query-time"]
    assert {trace["name"]: trace["y"][0] for trace in time["data"]} == {"processors": 5, "all else": 13}
    assert "% is processor time" in time["reading"]


def test_what_is_missing_is_said_in_the_words_of_the_engine(sqlserver: dict[str, Any]) -> None:
    missing = " ".join(sqlserver["counted"]["missing"])
    assert "sys.configurations" in missing
    assert "pg_" not in missing
    assert "operating system" not in missing  # SQL Server reads past its cache


@pytest.mark.browser
@pytest.mark.parametrize("width", first(1, 390, 1240))
def test_sql_server_is_a_page(sqlserver: dict[str, Any], open_page: Open, width: int) -> None:
    page = open_page(build_trace_page(sqlserver, "sqlserver"), width=width)
    assert "E:\\log\\shop.ldf" in text(page, "#groups")
    assert "WRITELOG" in text(page, "#groups")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
