"""The report of results of statements: queries, where their time goes, latency against the size of the buffer pool."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tests.examples import first
from tests.page_browser import Open, drawn, numbers, reload, text, unfolded
from tests.page_samples import CARD, DISKS, SSDS, TOO_FEW_DISKS, checked, sample
from tests.page_statements import HOSTILE_TEXTS, POOLS, QUERIES, RECORDED, pool_samples, statement_sample
from tiersim.cli import plots
from tiersim.cli.explanation import explanation
from tiersim.cli.page import build_page
from tiersim.cli.page.payload import embedded_json, page_payload, tier_name
from tiersim.cli.queries import LABEL, MOST_TEXT
from tiersim.simulator.categories import ELSEWHERE, WAIT_NAMES
from tiersim.simulator.database.database_state import SPENT
from tiersim.simulator.result import Result


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return pool_samples()


@pytest.fixture(scope="module")
def html(results: list[Result]) -> str:
    return build_page(results, "three tiers, four sizes")


@pytest.fixture(scope="module")
def checked_html() -> str:
    """The same, with percentiles whose error is known."""
    return build_page([checked(one) for one in pool_samples()], "three tiers, four sizes")


# ---------------------------------------------------------------------------------------------------------- payload
def test_sizes_of_one_storage_are_one_tier(results: list[Result]) -> None:
    payload = page_payload([*reversed(results), sample(CARD)], "x")
    assert [tier["name"] for tier in payload["tiers"]] == ["pcie-p3700", "sas-ssd-x4", "15k-raid10", "pcie-p3700 (2)"]
    for tier in payload["tiers"][:-1]:
        sizes = [payload["scenarios"][member]["engine"]["buffer_pool_bytes"] for member in tier["members"]]
        assert sizes == list(POOLS)
    assert payload["scenarios"][0]["name"] == "pcie-p3700, 4 GiB"
    assert payload["scenarios"][-1]["name"] == "pcie-p3700 (2)"


def test_what_differs_in_more_than_the_pool_is_another_tier() -> None:
    first, second = statement_sample(CARD, POOLS[0]), statement_sample(CARD, POOLS[1])
    other = replace(second, scenario_toml=second.scenario_toml.replace("seed = 1", "seed = 2"))
    assert [tier["members"] for tier in page_payload([first, second], "x")["tiers"]] == [[0, 1]]
    assert [tier["members"] for tier in page_payload([first, other], "x")["tiers"]] == [[0], [1]]
    assert [tier["members"] for tier in page_payload([first, first, second], "x")["tiers"]] == [[0, 2], [1]]
    second.summary["trace"] = {**second.summary["trace"], "hash": "another"}
    assert [tier["members"] for tier in page_payload([first, second], "x")["tiers"]] == [[0], [1]]


def test_a_tier_is_called_what_its_names_have_in_common() -> None:
    assert tier_name(["flash", "flash"]) == "flash"
    assert tier_name(["flash-1GiB", "flash-16GiB"]) == "flash"
    assert tier_name(["p3700 (64 MiB)", "p3700 (4 GiB)"]) == "p3700"
    assert tier_name(["small", "large"]) == "small"


def test_queries_stand_in_the_order_of_their_time(results: list[Result]) -> None:
    payload = page_payload(results, "x")
    time = {
        name: sum(
            r.summary["queries"][name]["count"] * sum(r.summary["queries"][name]["breakdown_ns"].values())
            for r in results
        )
        for name in QUERIES
    }
    assert [query["id"] for query in payload["queries"]] == sorted(QUERIES, key=lambda name: -time[name])
    assert payload["parts"] == [*SPENT, "outside the queries"]


def test_a_query_keeps_its_sums(results: list[Result]) -> None:
    summary, scenario = results[0].summary, page_payload(results[:1], "x")["scenarios"][0]
    queries = page_payload(results[:1], "x")["queries"]
    rate, count = summary["throughput_per_s"]["transactions"]["value"], summary["latency_ns"]["transaction"]["count"]
    found = {queries[int(place)]["id"]: one for place, one in scenario["queries"].items()}
    for name, one in summary["queries"].items():
        assert found[name]["per_s"] == pytest.approx(one["count"] / count * rate, rel=1e-4)
        assert found[name]["reads"] == pytest.approx(one["physical_reads_per_call"], rel=1e-4)
        assert found[name]["us"] == pytest.approx([one["breakdown_ns"][part] / 1e3 for part in SPENT], rel=1e-4)
        assert found[name]["ns"]["p95"][0] == pytest.approx(one["p95"]["value"], rel=1e-4)
    commits = scenario["commits"]
    assert commits["per_s"] == pytest.approx(summary["latency_ns"]["commit"]["count"] / count * rate, rel=1e-4)
    assert commits["us"] == pytest.approx([summary["commit_breakdown_ns"][part] / 1e3 for part in SPENT], rel=1e-4)
    assert sum(one["share"] for one in (*found.values(), commits)) == pytest.approx(1, abs=1e-4)
    mean_us = summary["latency_ns"]["transaction"]["mean"]["value"] / 1e3
    spent_ns = sum(sum(one["breakdown_ns"].values()) * one["count"] for one in summary["queries"].values())
    spent_ns += sum(summary["commit_breakdown_ns"].values()) * summary["latency_ns"]["commit"]["count"]
    assert sum(scenario["transaction_us"]) == pytest.approx(max(mean_us, spent_ns / count / 1e3), rel=1e-3)


def test_the_client_has_its_part_of_a_mean_that_is_not_resolved() -> None:
    found: list[list[float]] = []
    for result in (statement_sample(CARD), statement_sample(CARD)):
        mean = result.summary["latency_ns"]["transaction"]["mean"]
        mean |= {"low": 0.5 * mean["value"], "high": 1.5 * mean["value"]}
        mean |= {} if not found else {"value": None, "resolved": False}
        found.append(page_payload([result], "x")["scenarios"][0]["transaction_us"])
    assert found[1] == pytest.approx(found[0], rel=1e-4)
    assert found[0][-1] > 0


def test_a_saturated_scenario_has_no_time_of_queries() -> None:
    scenario = page_payload([statement_sample(TOO_FEW_DISKS)], "x")["scenarios"][0]
    assert scenario["transaction_us"] is None
    assert all(set(one) == {"count", "per_s", "reads"} for one in scenario["queries"].values())


def test_queries_are_in_no_curve_and_no_sum() -> None:
    result = statement_sample(CARD)
    extra = {name: "query 7123" for name in ("class",)}
    rows = [{**row, **extra} for row in result.timeline.to_pylist() if row["class"] == "transaction"]
    more = replace(
        result,
        timeline=result.timeline.from_pylist([*result.timeline.to_pylist(), *rows], result.timeline.schema),
        latency=result.latency.from_pylist(
            [*result.latency.to_pylist(), {**result.latency.to_pylist()[0], **extra}], result.latency.schema
        ),
    )
    assert page_payload([more], "x") == page_payload([result], "x")


def test_outstanding_are_transactions_where_there_are_any() -> None:
    result = statement_sample(DISKS)
    time = page_payload([result], "x")["scenarios"][0]["time"]
    assert time["of"] == "transactions"
    figures = result.summary["latency_ns"]["transaction"]
    mean = sum(time["outstanding"]) / len(time["outstanding"])
    assert mean == pytest.approx(figures["count"] * figures["mean"]["value"] / 120e9, rel=0.01)
    assert page_payload([sample(DISKS)], "x")["scenarios"][0]["time"]["of"] == "requests"


def test_a_loop_that_was_over_early_completes_what_it_says() -> None:
    result, plain = statement_sample(CARD), statement_sample(CARD)
    result.summary["throughput_per_s"]["transactions"]["value"] *= 1.5
    early, usual = (page_payload([one], "x")["scenarios"][0]["completed_per_s"] for one in (result, plain))
    assert early["transaction"] == pytest.approx(result.summary["throughput_per_s"]["transactions"]["value"])
    assert early["data read"] == pytest.approx(1.5 * usual["data read"])


def test_what_can_be_sustained_changes_no_rate_of_requests() -> None:
    """Of long transactions that saturate few end in time, and all of their requests until then are done."""
    result, plain = statement_sample(TOO_FEW_DISKS), statement_sample(TOO_FEW_DISKS)
    result.summary["throughput_per_s"]["transactions"]["value"] *= 5
    found, usual = (page_payload([one], "x")["scenarios"][0]["completed_per_s"] for one in (result, plain))
    assert found["transaction"] == pytest.approx(result.summary["throughput_per_s"]["transactions"]["value"])
    assert found["data read"] == usual["data read"] > 0


def test_texts_are_cut_and_fit_into_a_page() -> None:
    payload = page_payload([statement_sample(CARD, texts=HOSTILE_TEXTS)], "x")
    embedded_json(payload).encode("utf-8")
    found = {query["id"]: query for query in payload["queries"]}
    assert all(len(query["label"]) <= LABEL for query in payload["queries"])
    assert len(found["long"]["text"]) == MOST_TEXT
    assert found["long"]["left_out"] == len(HOSTILE_TEXTS["long"]) - MOST_TEXT
    assert found["script"]["text"] == HOSTILE_TEXTS["script"]


class _Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


def test_no_text_breaks_out_of_the_page() -> None:
    tags = _Tags(build_page([statement_sample(CARD, texts=HOSTILE_TEXTS)], "x")).tags
    assert tags.count("script") == 3
    assert "img" not in tags


def test_twelve_results_are_a_small_page(results: list[Result], html: str) -> None:
    assert len(embedded_json(page_payload(results, "x")).encode()) < 1_000_000
    assert len(html.encode()) < 6_500_000
    assert build_page(results, "three tiers, four sizes") == html


# ---------------------------------------------------------------------------------------------------------- plots
def test_latency_by_pool_has_a_line_for_each_tier(results: list[Result]) -> None:
    found = plots.latency_by_pool(results, statistic="mean")
    latencies, hits = found.data[::2], found.data[1::2]
    assert [trace.name for trace in latencies] == ["15k-raid10", "sas-ssd-x4", "pcie-p3700"]
    for tier, (trace, hit) in enumerate(zip(latencies, hits, strict=True)):
        own = results[4 * tier : 4 * tier + 4]
        assert list(trace.x) == list(POOLS)
        assert list(trace.y) == pytest.approx(
            [r.summary["latency_ns"]["transaction"]["mean"]["value"] / 1e3 for r in own]
        )
        assert list(hit.y) == pytest.approx([100 * r.summary["hit_ratio"]["pool"] for r in own])
        assert ["open" in symbol for symbol in trace.marker.symbol] == [r.summary["extrapolated"] for r in own]
    of_query = plots.latency_by_pool(results, query="902", statistic="p50").data[0]
    assert of_query.y[0] == pytest.approx(results[0].summary["queries"]["902"]["p50"]["value"] / 1e3, rel=1e-4)


def test_query_latency_and_its_parts(results: list[Result]) -> None:
    pair = [results[0], results[8]]
    bars = plots.query_latency(pair, "p95", most=2).data
    assert [len(trace.y) for trace in bars] == [2, 2]
    first = page_payload(pair, "x")["queries"][0]["id"]
    assert bars[1].y[0] == pytest.approx(results[8].summary["queries"][first]["p95"]["value"] / 1e3, rel=1e-4)
    parts = {trace.name: trace.y for trace in plots.query_breakdown(pair, "7123").data}
    assert parts[WAIT_NAMES["data read"]][0] == pytest.approx(
        results[0].summary["queries"]["7123"]["breakdown_ns"]["data read"] / 1e3, rel=1e-4
    )
    assert set(parts) == {WAIT_NAMES[part] for part in ("cpu", "data read", "eviction")}
    assert sum(trace.y[0] for trace in plots.query_breakdown(pair).data) == pytest.approx(
        sum(page_payload(pair, "x")["scenarios"][0]["transaction_us"]), rel=1e-4
    )


def test_plots_of_queries_refuse_what_they_cannot_draw(results: list[Result]) -> None:
    with pytest.raises(ValueError, match="know no queries; replay a recording of statements"):
        plots.query_latency(sample(CARD))
    with pytest.raises(ValueError, match="no query '1' in these results; there are "):
        plots.latency_by_pool(results, query="1")
    with pytest.raises(ValueError, match="no statistic 'p90'; there are mean, p50"):
        plots.query_latency(results, "p90")


# ---------------------------------------------------------------------------------------------------------- browser
@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1240, "light"), (390, "dark")])
def test_opens_offline_in_every_shape(html: str, read_page: Open, width: int, scheme: str) -> None:
    page = read_page(html, width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for chart in ("latency-pool", "spent", "percentiles", "requests", "outstanding", "stations", "ratios"):
        assert drawn(page, chart)
        assert page.locator(f"#{chart}-reading").inner_text()
        assert page.locator(f"#{chart} .main-svg").first.bounding_box()["width"] <= width


@pytest.mark.browser
def test_cards_speak_of_transactions(html: str, checked_html: str, read_page: Open, results: list[Result]) -> None:
    headline = read_page(checked_html).locator(".card >> nth=0 >> dt").all_inner_texts()[:3]
    assert headline == ["p95 of transactions", "mean of transactions", "mean of commits"]
    page = read_page(html)
    assert page.locator(".card").count() == 3
    assert page.locator(".card >> nth=0 >> dt").all_inner_texts() == [
        "mean of transactions",
        "mean of commits",
        "Transactions",
        "Pool hit ratio",
        "Buffer pool",
        "Checkpoints",
        "Busiest part",
    ]
    hits = 100 * results[0].summary["hit_ratio"]["pool"]
    assert f"Pool hit ratio {hits:.1f} %" in text(page, ".card >> nth=0")
    assert "Mean of transactions: " in text(page, "#lead")
    for said in ("The server counts totals, not single executions.", "Row locks are not simulated."):
        assert said in text(page, "#lead")
        assert said in unfolded(page)
    assert "Extrapolated" not in text(page, "#lead")
    sizes = page.locator("#lead .sizes tbody tr").all_inner_texts()
    assert [" ".join(row.split()) for row in sizes] == [
        f"{size}{3 * ' Carries the load'}" for size in ("64 MiB", "256 MiB", "1 GiB", "4 GiB")
    ]
    assert "Engine: buffer pool 64 MiB scenario" in unfolded(page)
    assert "Rows that a statement looks up were drawn" in unfolded(page)
    assert "Counters over 2 min: 73,148 executions in 23,983 transactions." in unfolded(page)


@pytest.mark.browser
def test_what_keeps_a_busy_cpu_busy_is_said(open_page: Open) -> None:
    result = statement_sample(CARD)
    found = {"station": "processors", "resource": "cores", "utilisation": 0.9}
    host = result.summary["host"] | {"clients_on_cores": True}
    described = {"baseline": "old", "described": "two disks in a desk"}
    busiest = replace(result, summary=result.summary | {"bottleneck": found, "host": host, "calibration": described})
    page = open_page(build_page([busiest], "a busy CPU"))
    assert "is busy 90 % of the time with queries, IO, and the clients, which run on" in text(page, "#lead")
    most = max(explanation(busiest.summary, None)["changes"], key=lambda one: one["at_most_share"])
    helps = f"{100 * most['at_most_share']:.2g} % of the mean by {most['change']}"
    assert f"Each change alone saves at best: {helps}" in text(page, "#lead")
    assert "A larger buffer pool saves CPU of reads, too; how much that would help" in text(page, "#lead")
    assert "Recorded hardware, as you described it (--recorded-on): two disks in a desk." in unfolded(page)


@pytest.mark.long
@pytest.mark.browser
def test_the_slider_moves_everything_from_the_keyboard(html: str, open_page: Open, results: list[Result]) -> None:
    page = open_page(html)
    charts = ("percentiles", "latency-time", "requests", "outstanding", "spent", "ratios")
    before = {chart: drawn(page, chart) for chart in charts}
    card, table = text(page, "#cards"), text(page, "#query-table")
    page.locator("#pool").focus()
    page.keyboard.press("End")
    assert page.locator("#pool").get_attribute("aria-valuetext").replace("\u00a0", " ") == "4 GiB"
    after = {chart: drawn(page, chart) for chart in charts}
    assert all(after[chart] != before[chart] for chart in charts)
    assert text(page, "#cards") != card
    assert text(page, "#query-table") != table
    assert page.locator(".card").count() == 3
    assert "Buffer pool 4 GiB extrapolated" in text(page, ".card >> nth=0")
    assert "Extrapolated: the buffer pool is more than four times" in text(page, "#lead")
    assert "With this size of the buffer pool all figures are extrapolated." in text(page, "#queries-note")
    assert f"pool={POOLS[-1]}" in page.url
    reload(page)
    assert page.locator("#pool").input_value() == "3"
    page.locator("#pool").focus()
    page.keyboard.press("ArrowLeft")
    assert f"pool={POOLS[-2]}" in page.url


@pytest.mark.long
@pytest.mark.browser
def test_latency_against_the_pool(html: str, checked_html: str, open_page: Open, results: list[Result]) -> None:
    page = open_page(html)
    traces = page.eval_on_selector(
        "#latency-pool", "e => e.data.map(t => [t.name, t.yaxis ?? 'y', t.x, t.y, t.marker.symbol])"
    )
    latencies = [trace for trace in traces if trace[1] == "y"]
    assert [trace[0] for trace in latencies] == ["15k-raid10", "sas-ssd-x4", "pcie-p3700"]
    means = [r.summary["latency_ns"]["transaction"]["mean"]["value"] / 1e3 for r in results[:4]]
    assert latencies[0][2] == list(POOLS)
    assert latencies[0][3] == pytest.approx(means)
    assert ["open" in symbol for symbol in latencies[0][4]] == [size > 4 * RECORDED for size in POOLS]
    hits = [trace for trace in traces if trace[1] == "y2"]
    assert hits[0][3] == pytest.approx([100 * r.summary["hit_ratio"]["pool"] for r in results[:4]])
    page = open_page(checked_html)
    page.locator("#pool-statistic").select_option("p99")
    assert page.locator("#pool-query option").all_inner_texts()[:2] == ["Transactions", "Commits"]
    page.locator("#pool-query").select_option(label=page.locator("#pool-query option").nth(2).inner_text())
    name = page_payload(results, "x")["queries"][0]["id"]
    table = numbers(page, "latency-pool")[0]
    assert len(table) == 13
    assert float(table[1][2]) == pytest.approx(results[0].summary["queries"][name]["p99"]["value"] / 1e3, rel=1e-4)
    assert table[4][6] == "yes"
    assert page.locator("#statistic").input_value() == "p99"


@pytest.mark.browser
def test_a_percentile_of_statements_that_nobody_compared_is_unknown(html: str, open_page: Open) -> None:
    page = open_page(html)
    assert "p95" not in text(page, "#cards")
    page.locator("#statistic").select_option("p95")
    head = page.locator("#comparison thead th").all_inner_texts()
    for row in page.locator("#comparison tbody tr:not(.recorded)").all():
        cells = dict(zip(head, row.locator("th, td").all_inner_texts(), strict=True))
        assert {cells[name] for name in ("Transactions", "Commits", "Data reads")} <= {"unknown", "none"}
        assert cells["Transactions"] == "unknown"
    why = "for replays like this (another kind of storage, or not calibrated), no percentile was ever compared"
    assert f"Unknown: {why}" in text(page, "#comparison-note")
    line = "#query-table tbody tr >> nth=0 >> td"
    assert [page.locator(line).nth(place).inner_text().split() for place in (4, 5)] == [3 * ["unknown"]] * 2
    assert {value for trace in drawn(page, "latency-pool")[::2] for value in trace["y"]} == {None}  # then hit ratios
    assert "15k-raid10: unknown." in text(page, "#latency-pool-reading")
    assert {(*row[2:5], row[7]) for row in numbers(page, "latency-pool")[0][1:]} == {("–", "–", "–", "unknown")}
    transactions = page.locator("#pair-ratios tbody tr >> nth=0 >> td").all_inner_texts()
    assert transactions[2:] == ["unknown"] * 4
    assert "unknown" not in transactions[:2]
    assert {row[1] for row in numbers(page, "ratios")[0][1:] if row[4] != "–"} == {"mean"}
    assert all(trace["y"] == [*range(len(trace["y"]))] for trace in drawn(page, "ratios"))  # each beside its name
    assert page.locator("#cards .interval:empty").count() == 0  # which would move a figure off the edge
    assert text(page, "#ratios-reading").startswith("P95 of transactions: unknown.")
    known = page.locator("#pair-ratios tbody tr").count()  # means
    assert f"Of {known} figures" in text(page, "#ratios-reading")
    impact = page.locator("#checkpoint-impact tbody tr >> nth=0 >> td").all_inner_texts()
    assert [place for place, cell in enumerate(impact) if cell == "unknown"] == [3, 5]  # both columns of p95
    assert text(page, "#percentiles-reading").startswith("P99 of transactions is unknown. The curves are simulated.")
    told = {row[1] for row in numbers(page, "percentiles")[0][1:] if row[2:5] != ["–", "–", "–"]}
    assert told == {"mean"}


@pytest.mark.long
@pytest.mark.browser
def test_saturated_and_unresolved_sizes_have_no_point(open_page: Open) -> None:
    small, large = (statement_sample(DISKS, size) for size in (POOLS[0], POOLS[2]))
    middle = statement_sample(replace(DISKS, load="saturated"), POOLS[1])
    large.summary["latency_ns"]["transaction"]["p95"] |= {"value": None, "resolved": False}
    page = open_page(build_page([checked(one) for one in (small, middle, large)], "x"))
    traces = drawn(page, "latency-pool")
    line, marks, strokes = (
        next(trace for trace in traces if trace["name"] == name) for name in ("15k-raid10", "saturated", "range")
    )
    assert [value is None for value in line["y"]] == [False, True, True]
    assert marks["x"] == [POOLS[1]]
    assert strokes["x"][:2] == [POOLS[2]] * 2
    said = [row[7] for row in numbers(page, "latency-pool")[0][1:]]
    assert said == ["resolved", "saturated", "only a range"]


@pytest.mark.long
@pytest.mark.browser
def test_queries_are_found_sorted_and_chosen(
    html: str, checked_html: str, open_page: Open, read_page: Open, results: list[Result]
) -> None:
    page = open_page(checked_html)
    names = "#query-table tbody .query"
    assert page.locator(names).all_inner_texts()[:2] == ["Whole transactions", "Commits"]
    page.locator("#query-table .sort", has_text="p99").focus()
    page.keyboard.press("Enter")
    p99 = {name: one["p99"]["value"] for name, one in results[0].summary["queries"].items()}
    labels = {query["id"]: query["label"] for query in page_payload(results, "x")["queries"]}
    assert page.locator(names).all_inner_texts()[2:] == [
        labels[name] for name in sorted(p99, key=lambda name: -p99[name])
    ]
    assert page.locator("#query-table [aria-sort=descending]").inner_text() == "p99 ↓"
    page.keyboard.press("Enter")
    assert page.locator(names).all_inner_texts()[2:] == [
        labels[name] for name in sorted(p99, key=lambda name: p99[name])
    ]
    page.locator("#query-search").fill("TELLERS")
    assert page.locator(names).all_inner_texts() == [labels["902"]]
    page.locator(names).click()
    assert "query=902" in page.url
    assert page.locator("#query-text pre").inner_text().splitlines()[1] == "  FROM pgbench_history h"
    assert "executions synthesised from counters" in text(page, "#query-text")
    parts = {trace["name"]: trace["x"] for trace in drawn(page, "spent")}
    spent = results[0].summary["queries"]["902"]["breakdown_ns"]
    assert parts[WAIT_NAMES["data read"]][0] == pytest.approx(spent["data read"] / 1e6, rel=1e-4)
    places = page.eval_on_selector("#spent", "e => e.data[0].customdata")  # a bar that is clicked selects its scenario
    assert places == list(range(page.locator(".card").count()))
    assert float(numbers(page, "spent")[0][1][3]) == pytest.approx(spent["data read"] / 1e3, rel=1e-4)
    page.locator("#query-search").fill("no such text")
    assert "No query holds this text." in text(page, "#query-table")
    page = read_page(html)  # whole transactions: time outside the queries is a part of them, too
    colours = page.eval_on_selector("#spent", "e => e.data.map(trace => trace.marker.color)")
    assert WAIT_NAMES[ELSEWHERE] in [trace["name"] for trace in drawn(page, "spent")]
    assert "" not in colours
    assert len(set(colours)) == len(colours)
    odd = open_page(html, "#query=none&pool=7")
    assert odd.locator("#query-text h3").inner_text() == "Whole transactions"


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize("width", first(1, 390, 1240))
def test_hostile_texts_are_shown_as_text(open_page: Open, width: int) -> None:
    page = open_page(
        build_page([statement_sample(CARD, texts=HOSTILE_TEXTS), statement_sample(SSDS, texts=HOSTILE_TEXTS)], "x"),
        width=width,
    )
    assert page.locator("img").count() == 0
    for name in HOSTILE_TEXTS:
        page.evaluate(f"location.hash = new URLSearchParams({{query: {json.dumps(name)}}})")
        page.locator("#query-text .source", has_text=f"id {name}").wait_for()
        shown = page.locator("#query-text pre").text_content()
        if name != "=1+2":  # what is no text at all is replaced
            assert shown == HOSTILE_TEXTS[name][:MOST_TEXT]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator("#query-text pre").bounding_box()["height"] <= 330
    most = 120 if width > 640 else 220  # on a narrow screen the figures stand below the text
    assert all(row.bounding_box()["height"] < most for row in page.locator("#query-table tbody tr").all())
    assert "990,007 more are not in this page." in text(page, "#query-text")


@pytest.mark.long
@pytest.mark.browser
def test_many_queries_are_folded(open_page: Open) -> None:
    result = statement_sample(CARD, texts={f"q{i}": f"SELECT {i}" for i in range(30)})
    page = open_page(build_page([result], "x"))
    assert page.locator("#query-table tbody tr").count() == 14
    page.locator("#query-more").click()
    assert page.locator("#query-table tbody tr").count() == 35
    assert not page.locator("#query-more").is_visible()


@pytest.mark.browser
def test_what_a_query_took_when_it_was_recorded_stands_above_its_predictions(open_page: Open) -> None:
    result = statement_sample(CARD, RECORDED)
    query = next(iter(result.summary["queries"]))
    result.summary["recorded_mean_ns"] = {query: 4.25e6}
    page = open_page(build_page([result], "x"))
    rows = [one for one in page.locator("#query-table tbody tr").all_inner_texts() if "Recorded" in one]
    assert ["4.25\u00a0ms" in row for row in rows] == [True]


@pytest.mark.long
@pytest.mark.browser
def test_a_page_of_requests_has_no_queries(open_page: Open) -> None:
    page = open_page(build_page([sample(CARD), sample(DISKS)], "x"))
    for part in ("#queries", "#pool-figures", "#pool-control"):
        assert not page.locator(part).is_visible()
    mixed = open_page(build_page([statement_sample(CARD), sample(DISKS)], "x"))
    assert mixed.locator("#queries").is_visible()
    assert "mean of log writes" in text(mixed, ".card >> nth=1")
    assert "mean of transactions" in text(mixed, ".card >> nth=0")


@pytest.mark.long
@pytest.mark.browser
def test_queries_fit_on_paper(html: str, open_page: Open) -> None:
    page = open_page(html, "#query=902", width=688)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for part in ("#query-search", "#pool-control", ".choices"):
        assert page.locator(f"{part}:visible").count() == 0
    assert page.locator("#query-text pre").is_visible()
    assert page.locator("#latency-pool .xtick").last.text_content() == "4\u00a0GiB"
