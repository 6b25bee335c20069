"""Results of tenants on the page: who slows whom, worst minutes, and all of them over time."""

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.page_browser import Open, text
from tests.page_samples import DISKS, SSDS, sample
from tests.page_statements import statement_sample
from tiersim.cli.page import build_page
from tiersim.cli.page.payload import page_payload
from tiersim.cli.verdicts import carries, expected_multiples
from tiersim.scenarios.tenants.transactions import as_the_statements
from tiersim.simulator.result import Result

MS = 1_000_000
SHARE = {"share": 2, "minimum": 50, "requests": 9, "by_minimum": 1}


def tenant(
    name: str, together_ms: float | None, without_ms: dict[str, float | None], start_s: int = 0, **more: Any
) -> Result:
    result = sample(DISKS)
    shared = {
        "tenant": name,
        "with": list(without_ms),
        "start_ns": start_s * 10**9,
        "overlap": dict.fromkeys(without_ms, 1.0),
        "mean_latency_ns": together_ms and together_ms * MS,
        "alone": {"mean_latency_ns": 2.0 * MS},
        "without": {other: mean and mean * MS for other, mean in without_ms.items()},
        "waits_ns": {
            "data.0": {"bill": 5e9 * (name != "bill"), name: 1e9},
            "data.1": {"bill": 5e9 * (name != "bill")},
        },
        "not_modelled": [],
        **more,
    }
    return replace(result, summary=result.summary | {"name": f"disks.{name}", "shared": shared})


def minute(shifts_s: dict[str, int]) -> dict[str, Any]:
    one = {"start_ns": 300 * 10**9, "mean_latency_ns": 3.0 * MS, "requests": 100}
    return {
        "minute_ns": 60 * 10**9, "within_ns": 1800 * 10**9, "simulated": 2, "alone": one, "aligned": one,
        "worst": one | {"mean_latency_ns": 9.0 * MS, "place": "disk arm of data",
                        "shifts_ns": {name: shift * 10**9 for name, shift in shifts_s.items()}},
    }  # fmt: skip


def three() -> list[Result]:
    return [
        tenant("shop", 4.0, {"bill": 2.5, "crm": 3.8}, worst_minute=minute({"shop": 240, "bill": -240, "crm": 0})),
        tenant("bill", 3.0, {"shop": 2.9, "crm": 3.0}, 30, share=SHARE),
        tenant("crm", 3.0, {"shop": 3.0, "bill": 2.0}),
    ]  # fmt: skip


def test_tenants_of_a_run_stand_together() -> None:
    results = [sample(SSDS), *three()]
    (run,) = page_payload(results, "x")["sharing"]
    assert run["scenario"] == "disks"
    assert [(one["name"], one["index"]) for one in run["tenants"]] == [("shop", 1), ("bill", 2), ("crm", 3)]
    shop = run["tenants"][0]
    assert shop["without_us"] == {"bill": 2500, "crm": 3800}
    behind = shop["behind"]["bill"]
    assert behind["at"] == "data.*"
    assert behind["us"] == pytest.approx(10e6 / results[1].summary["commands"])
    assert shop["worst_minute"]["shifts_s"] == {"shop": 240, "bill": -240}
    assert page_payload([sample(SSDS)], "x")["sharing"] == []


def judged(ratio: float, **replay: Any) -> Result:
    """A tenant whose statements, in their run, did the recorded 200 transactions a second."""
    run = statement_sample(DISKS)
    ends = {
        "transactions_per_s": {"low": 180.0, "high": 230.0},
        "transaction_mean_ns": {"low": 4e6, "high": 9e6},
        "p99_ns": {"transaction": {"low": 2e7, "high": 4e7}},
        "verdict": "determined",
    }
    said = {"keeps": "clients", "recorded_connections": 16} | replay
    run = replace(run, summary=run.summary | {"replay": run.summary["replay"] | said, "range": ends})
    result = tenant("shop", 4.0, {"bill": 2.5})
    return as_the_statements(replace(result, summary=result.summary | {"replay": {"late_sessions": 3}}), run, ratio)


def test_what_goes_slower_beside_others_is_judged_by_the_recorded_transactions() -> None:
    """At 96 % of them the load is carried, at 90 % it is not, each in doubt if the range reaches to the other side."""
    for ratio, load in ((0.96, "yes, in doubt"), (0.9, "no, behind, in doubt"), (0.5, "no, behind"), (1.1, "yes")):
        summary = judged(ratio).summary
        assert carries(summary) == load
        assert summary["throughput_per_s"]["transactions"]["value"] == pytest.approx(ratio * 199.858, rel=1e-5)
        assert summary["range"]["transactions_per_s"]["low"] == pytest.approx(ratio * 180)
        assert summary["range"]["p99_ns"] == {}  # that of transactions alone is not theirs
        assert summary["throughput_shortfall_pct"] == pytest.approx(100 * (1 - ratio))
    assert "90 % of the recorded transactions/s" in judged(0.9).summary["load"]["explanation"]
    by_the_clock = judged(1.0, keeps="rate", recorded_connections=1).summary  # which are too few for so many a second
    assert by_the_clock["in_doubt"] is True


def test_a_tenant_has_no_range_of_a_mean_of_transactions() -> None:
    """Its latencies are those of its requests, and the range is of the transactions of its run."""
    assert list(expected_multiples(judged(1.0).summary)) == ["throughput", "mean"]


def test_a_page_counts_transactions_where_they_are_judged(open_page: Open) -> None:
    page = open_page(build_page([judged(0.5), tenant("bill", 3.0, {"shop": 2.9})], "two"))
    lead, card = (" ".join(text(page, one).replace("\u00a0", " ").split()) for one in ("#lead", "#cards .selected"))
    assert "disks.shop completes 50 % fewer transactions/s than recorded" in lead
    assert re.search(r"Transactions \S+/s ?50 % fewer ?expected", card), card
    assert "Behind" in card


@pytest.mark.long
def test_the_matrix_says_who_slows_whom_and_the_minutes_when(open_page: Open) -> None:
    page = open_page(build_page(three(), "three on one array"))
    assert text(page, "#tenants-title") == "Who slows whom on disks"
    rows = page.locator("#harm tbody tr")
    assert rows.count() == 3
    shop = rows.nth(0).inner_text()
    assert "+60 %" in shop.replace("\u00a0", " ")  # by bill: 4.0 against 2.5
    assert "share 2, at least 50/s" in rows.nth(1).inner_text()
    assert "bill slows shop most" in text(page, "#harm-note")
    minutes = page.locator("#minute-table tbody tr")
    assert minutes.count() == 1
    said = minutes.nth(0).inner_text().replace("\u00a0", " ")
    assert "shop 4 min later" in said
    assert "bill 4 min sooner" in said
    ends = page.evaluate("document.getElementById('tenants-requests').data.map(one => one.x.at(-1) - one.x.at(0))")
    first = page.evaluate("document.getElementById('tenants-requests').data.map(one => one.x.at(0))")
    assert len(ends) == 3
    assert first[1] - first[0] == pytest.approx(30, abs=0.5)  # it begins 30 s later


def test_a_saturated_tenant_is_said_on_the_page(open_page: Open) -> None:
    results = [tenant("shop", None, {"bill": 2.5, "crm": None}), *three()[1:]]
    page = open_page(build_page(results, "shared"))
    shop = page.locator("#harm tbody tr").nth(0).inner_text().replace("\u00a0", " ")
    assert "2.50 ms without it" in shop
    assert "saturated without it" in shop
    assert "%" not in shop
    assert "shop is saturated, so it has no steady latency; without bill it is not." in text(page, "#harm-note")


def test_a_page_without_tenants_says_nothing_of_them(open_page: Open) -> None:
    page = open_page(build_page([sample(DISKS)], "one"))
    assert page.locator("#tenants").is_hidden()
