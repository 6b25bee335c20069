"""``compare`` and ``explain``: real small results and made-up ones; every number is one of the results."""

# ruff: noqa: F401, F811 - fixtures

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.page_samples import CARD, DISKS, SSDS, TOO_FEW_DISKS, checked, sample
from tests.page_statements import statement_sample
from tests.test_cli import CAPTURE, Shell, shell
from tests.test_page_tenants import tenant
from tiersim.cli import terminal
from tiersim.cli.compare import _show_measured as show_measured
from tiersim.cli.comparison import comparison
from tiersim.cli.explain import bound_text
from tiersim.cli.explanation import explanation
from tiersim.cli.measured import MeasuredFigure, read_measured
from tiersim.cli.page.payload import page_payload
from tiersim.cli.queries import faster_outside, time_of_transaction
from tiersim.cli.statements import show_statements
from tiersim.errors import TraceError
from tiersim.scenarios.caveats import BEYOND, OTHER_STORAGE
from tiersim.simulator.categories import ELSEWHERE
from tiersim.simulator.result import load_result, save_result

DEVICES = ("15k-raid10", "pcie-flash")


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a small recording on two devices."""
    from tiersim.cli.replay import run_all
    from tiersim.scenarios.library import load_scenario
    from tiersim.traces.bundle import Bundle
    from tiersim.traces.readers import import_trace

    folder = tmp_path_factory.mktemp("replayed")
    import_trace([CAPTURE], folder / "vda.trace")
    scenarios = [load_scenario(name) for name in DEVICES]
    targets = [folder / f"{name}.result" for name in DEVICES]
    run_all(Bundle(folder / "vda.trace"), scenarios, targets, requests=False, force=False)
    return folder


def saved(folder: Path, **results: Any) -> list[Path]:
    """Write made-up results under their names."""
    for name, result in results.items():
        save_result(result, folder / f"{name}.result", {})
    return [folder / f"{name}.result" for name in results]


# --------------------------------------------------------------------------------------------------------- compare
def test_ratios_are_those_of_the_results(shell: Shell, replayed: Path) -> None:
    paths = [replayed / f"{name}.result" for name in DEVICES]
    document = shell("compare", *paths, "--json").document()
    assert document["schema"] == "tiersim.compare/1"
    assert document["baseline"] == DEVICES[0]
    first, second = (load_result(path).summary for path in paths)
    ratios = document["results"][1]["ratios"]["latency_ns"]
    assert ratios.keys() == first["latency_ns"].keys()
    checked = 0
    for name, found in ratios.items():
        for key, one in found.items():
            a, b = first["latency_ns"][name][key], second["latency_ns"][name][key]
            if a["resolved"] and b["resolved"]:
                assert one["value"] == pytest.approx(b["value"] / a["value"], rel=1e-3)
                assert one["low"] == pytest.approx(b["low"] / a["high"], rel=1e-3)
                checked += 1
    assert checked
    assert "verdict" in next(iter(next(iter(ratios.values())).values()))


def test_the_table_says_what_the_intervals_leave_open(shell: Shell, replayed: Path) -> None:
    said = shell("compare", *(replayed / f"{name}.result" for name in DEVICES))
    assert "÷ 15k-raid10" in said.out
    assert "pcie-flash against 15k-raid10: of " in said.out
    assert "busiest part" in said.out
    assert "(not calibrated), measured against predicted: throughput" in said.out  # of a load that is not carried
    assert "(not calibrated), measured against predicted: mean latency" in said.out  # and of one that is
    assert "It does not hold the error of the models." in said.out
    rows = [line for line in said.out.splitlines() if re.search(r", (mean|p\d\d)  ", line)]
    compared = [line for line in rows if "×" in line or "(" in line]
    assert f"of {len(compared)} latencies" in said.out
    left = sum(line.rstrip().endswith("open") for line in compared)
    assert (f"for {left} it is not clear" in said.out) == (left > 0)
    same = shell("compare", *[replayed / f"{DEVICES[0]}.result"] * 2)
    assert "the same" in same.out
    assert " 0 are lower, 0 higher" in same.out


def test_results_of_one_name_are_told_apart_by_their_paths(shell: Shell) -> None:
    for name in ("first", "second"):
        (shell.folder / name).mkdir()
    paths = saved(shell.folder / "first", card=statement_sample(CARD)) + saved(
        shell.folder / "second", card=statement_sample(CARD)
    )
    names = [one["name"] for one in shell("compare", *paths, "--json").document()["results"]]
    assert names == [str(path.with_suffix("")) for path in paths]


def test_a_doubt_stands_beside_the_verdict(shell: Shell) -> None:
    doubtful = statement_sample(DISKS)
    doubtful.summary["in_doubt"] = True
    document = shell(
        "compare", *(paths := saved(shell.folder, a=doubtful, b=statement_sample(CARD))), "--json"
    ).document()
    assert [one["in_doubt"] for one in document["results"]] == [True, False]
    assert ", in doubt" in shell("compare", *paths).out


def test_intervals_decide() -> None:
    a, b = statement_sample(DISKS).summary, statement_sample(CARD).summary
    found = comparison([a, b, dict(a)], None, "")["results"]
    assert found[1]["ratios"]["latency_ns"]["transaction"]["mean"]["verdict"] == "less"
    assert found[2]["ratios"]["latency_ns"]["transaction"]["p99"]["verdict"] == "open"
    assert set(found[1]["ratios"]["queries"]) == set(a["queries"])


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"trace": {"name": "other", "hash": "1"}}, "replayed different traces"),
        ({"level": "requests"}, "measure different things"),
        ({"replay": {"load": 2.0}}, "would compare the loads"),
        ({"replay": {"mode": "open"}}, "ran requests at their recorded times (open) and "),
        ({"replay": {"mode": "partly-open", "played": "open"}}, "two loads and not the storage"),
        ({"replay": {"mode": "closed"}}, "two loads and not the storage"),
        ({"replay": {"mode": "partly-open", "keeps": "rate"}}, "two loads and not the storage"),
        ({"verdict": {"load": "saturated", "calibration": "none"}}, "saturated"),
    ],
)
def test_no_ratio_where_it_would_mean_nothing(changed: dict[str, Any], why: str) -> None:
    a, b = statement_sample(DISKS).summary, {**statement_sample(CARD).summary, **changed}
    found = comparison([a, b], None, "")["results"][1]
    assert found["ratios"] is None
    assert why in found["no_ratios"]


def test_more_clients_of_a_closed_loop_are_another_load() -> None:
    a, b = statement_sample(DISKS).summary, statement_sample(CARD).summary
    for one, sessions in ((a, 8), (b, 16)):
        one["replay"] = {"keeps": "clients", "sessions": sessions}
    assert "ran 16 clients and " in comparison([a, b], None, "")["results"][1]["no_ratios"]
    b["replay"]["sessions"] = 8
    assert comparison([a, b], None, "")["results"][1]["no_ratios"] is None


def test_an_open_and_a_closed_replay_have_no_ratio(shell: Shell, replayed: Path) -> None:
    """On the same storage sessions that wait are answered sooner: they ask for less."""
    from tiersim.cli.replay import run_all
    from tiersim.scenarios.library import load_scenario
    from tiersim.traces.bundle import Bundle

    ways = {"open": ["replay.mode=open"], "closed": ["replay.mode=closed", "replay.clients=4"]}
    paths = [shell.folder / f"{name}.result" for name in ways]
    for settings, target in zip(ways.values(), paths, strict=True):
        trace, scenario = Bundle(replayed / "vda.trace"), load_scenario(DEVICES[1], settings)
        run_all(trace, [scenario], [target], requests=False, force=False)
    said = shell("compare", *paths).out.replace("\n", " ")
    assert f"No ratios: {paths[1].with_suffix('')} ran requests as fast as sessions are" in said
    assert shell("compare", *paths, "--json").document()["results"][1]["ratios"] is None


def test_different_traces_are_said(shell: Shell, replayed: Path) -> None:
    (other,) = saved(shell.folder, other=sample(SSDS))
    said = shell("compare", replayed / "pcie-flash.result", other)
    assert "No ratios: sas-ssd-x4 and pcie-flash replayed different traces (pgbench and vda)" in said.out


def test_a_recording_stands_beside_its_predictions(shell: Shell, replayed: Path) -> None:
    paths = [replayed / f"{name}.result" for name in DEVICES]
    measured = load_result(paths[0]).summary["measured_latency_ns"]
    found = shell("compare", *paths, "--measured", replayed / "vda.trace", "--json").document()["measured"]
    assert {row["class"] for row in found["rows"]} <= set(measured)
    for row in found["rows"]:
        assert row["measured_ns"] == pytest.approx(measured[row["class"]][row["statistic"]])
        for one in row["predictions"]:
            value = one["predicted"]["value"]
            if value is not None and one["predicted"]["resolved"]:
                assert one["error_pct"] == pytest.approx(100 * (value / row["measured_ns"] - 1))
    assert any(one["error_pct"] is not None for row in found["rows"] for one in row["predictions"])
    said = shell("compare", paths[0], "--measured", CAPTURE)
    assert "predicted against measured" in said.out


def test_a_load_that_was_not_measured_is_said(replayed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At four times the load means were 8 % off, by chance: the measurement was of the recorded one."""
    summary = load_result(replayed / "pcie-flash.result").summary
    more = {**summary, "name": "flash at 4", "replay": {**summary["replay"], "load": 4.0}}
    measured = [MeasuredFigure("throughput", "requests", 503.0)]
    document = comparison([summary, more], measured, "m.csv")
    assert document["measured"]["loads"] == {"flash at 4": 4.0}
    show_measured(document, [])
    said = "flash at 4 ran 4 × the recorded load: ignore its errors unless m.csv was measured at that load."
    assert said in capsys.readouterr().out
    show_measured(comparison([summary], measured, "m.csv"), [])
    assert "the recorded load" not in capsys.readouterr().out


def test_a_table_of_figures_stands_beside_predictions(shell: Shell) -> None:
    (path,) = saved(shell.folder, disks=statement_sample(DISKS))
    summary = load_result(path).summary
    table = shell.file(
        "after.csv",
        "class,statistic,value,unit\ntransaction,p99,2.5,ms\nquery"
        " 7123,mean,900,us\nthroughput,transactions,150,per_s\nnobody,p50,1,s\n",
    )
    found = shell("compare", path, "--measured", table, "--json").document()["measured"]
    by_class = {row["class"]: row for row in found["rows"]}
    p99 = summary["latency_ns"]["transaction"]["p99"]["value"]
    assert by_class["transaction"]["measured_ns"] == 2.5e6
    assert by_class["transaction"]["predictions"][0]["error_pct"] == pytest.approx(100 * (p99 / 2.5e6 - 1))
    assert by_class["transaction"]["predictions"][0]["interval_holds"] is False
    assert by_class["query 7123"]["measured_ns"] == 900_000
    rate = summary["throughput_per_s"]["transactions"]["value"]
    assert by_class["throughput"]["predictions"][0]["error_pct"] == pytest.approx(100 * (rate / 150 - 1))
    assert by_class["throughput"]["predictions"][0]["interval_holds"] is None  # a rate has none
    assert found["unmatched"] == ["nobody"]
    rows = [{"class": "transaction", "statistic": "p99", "value": 2.5, "unit": "ms"}]
    same = shell("compare", path, "--measured", shell.file("after.json", json.dumps(rows)), "--json").document()
    assert same["measured"]["rows"] == [by_class["transaction"]]
    assert "Measured, and in none of the results: nobody." in shell("compare", path, "--measured", table).out
    table = shell.file("wrong.csv", "class,statistic,value,unit\ntransacton,p99,2.5,ms\n")
    said = shell("compare", path, "--measured", table).out
    assert "in none of the results: transacton (did you mean 'transaction'?)." in said
    assert "Expected error" in said


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (",p99,1,ms", "row 1: has no class"),
        (
            "transaction,p98,1,ms",
            "row 1: 'p98' is not a statistic of transaction; write one of mean, p50, p95, p99, p999; did you mean",
        ),
        ("transaction,p99,1,minutes", "row 1: 'minutes' is not a unit of transaction; write one of ns"),
        ("transaction,p99,1,per_s", "row 1: 'per_s' is not a unit"),
        (
            "throughput,p99,1,per_s",
            "row 1: 'p99' is not a statistic of throughput; write one of requests, statements, transactions",
        ),
        ("transaction,p99,fast,ms", "row 1: the value 'fast' is not a number"),
        ("transaction,p99,,ms", "row 1: the value '' is not a number"),
        ("transaction,p99,-1,ms", "row 1: the value '-1' is not above 0"),
        ("transaction,p99,nan,ms", "row 1: the value 'nan' is not above 0"),
        ("transaction", "row 1: '' is not a statistic"),
        ("", "holds no measured latency"),
    ],
)
def test_a_table_with_a_mistake(shell: Shell, row: str, says: str) -> None:
    (path,) = saved(shell.folder, disks=statement_sample(DISKS))
    table = shell.file("after.csv", f"class,statistic,value,unit\n{row}\n")
    said = shell.fails("compare", path, "--measured", table)
    assert says in said
    assert "after.csv" in said


def test_one_result_alone_is_wrong_usage(shell: Shell, replayed: Path) -> None:
    said = shell("compare", replayed / "pcie-flash.result")
    assert said.code == 2
    assert "nothing to be compared with" in " ".join(said.err.replace("│", " ").split())


def test_no_result_is_said(shell: Shell) -> None:
    assert "is not a result bundle" in shell.fails("compare", "a.result", "b.result")
    assert "is not a result bundle" in shell.fails("explain", "a.result")
    Path("c.result/x.result").mkdir(parents=True)
    assert "c.result: is a folder of results; name one of them, such as c.result/x.result" in shell.fails(
        "explain", "c.result"
    )


# --------------------------------------------------------------------------------------------------------- explain
def test_parts_of_a_query_are_those_of_the_result() -> None:
    summary = statement_sample(DISKS).summary
    document = explanation(summary, "7123")
    breakdown = summary["queries"]["7123"]["breakdown_ns"]
    assert {part["part"]: part["ns"] for part in document["parts"]} == {k: v for k, v in breakdown.items() if v > 0}
    assert sum(part["share"] for part in document["parts"]) == pytest.approx(1)
    assert [part["ns"] for part in document["parts"]] == sorted((v for v in breakdown.values() if v > 0), reverse=True)
    assert document["reads"]["per_call"] == summary["queries"]["7123"]["physical_reads_per_call"]
    mean = summary["queries"]["7123"]["mean"]["value"]
    reading = next(change for change in document["changes"] if change["part"] == "data read")
    assert reading["mean_at_best_ns"] == pytest.approx(max(mean - breakdown["data read"], 0))


@pytest.mark.parametrize(
    ("clients", "least"), [(8, 0.9), (16, 0.8)], ids=["no pauses", "pauses as long as transactions"]
)
def test_faster_storage_leaves_the_processors_to_be_filled(clients: int, least: float) -> None:
    """Processors are busy for 90 % of the time: nothing but they can shorten the mean of these clients by more."""
    summary = statement_sample(DISKS).summary
    mean = summary["latency_ns"]["transaction"]["mean"]["value"]
    summary["replay"] |= {"keeps": "clients", "sessions": clients}
    summary["throughput_per_s"]["transactions"] = {"value": 8 / mean * 1e9}
    summary["host"] = {"cores": 2, "utilisation": 0.9}
    document = explanation(summary, None)
    (first, *_) = [part for part in document["parts"] if part["part"] not in ("cpu", "cpu queue")]
    assert first["share"] > 0.2
    found = {one["part"]: one for one in document["changes"]}
    assert found[first["part"]]["mean_at_best_ns"] == pytest.approx(least * mean)
    assert found[first["part"]]["at_most_share"] == pytest.approx(1 - least)
    assert found[first["part"]]["then_full"] == "processors"
    assert all(one["then_full"] is None for part, one in found.items() if part.startswith("cpu"))


def test_more_cores_take_off_what_waits_for_one_in_all_parts() -> None:
    """Five of eight clients are at two cores that are busy all the time: three of them wait, for 3/8 of the mean."""
    summary = statement_sample(DISKS).summary
    mean = summary["latency_ns"]["transaction"]["mean"]["value"]
    summary["throughput_per_s"]["transactions"] = {"value": 8 / mean * 1e9}
    summary["host"] = {"cores": 2, "utilisation": 1.0}
    summary["stations"]["processors"] = {"queue_mean": 5.0, "requests": 1000, "utilisation": {"cores": 1.0}}
    document = explanation(summary, None)
    assert document["cores"] == pytest.approx({"time_ns": 5 / 8 * mean, "waiting_ns": 3 / 8 * mean})
    found = {one["part"]: one for one in document["changes"]}
    assert found["cpu queue"]["mean_at_best_ns"] == pytest.approx(5 / 8 * mean)
    assert found["cpu"]["mean_at_best_ns"] == pytest.approx(3 / 8 * mean)
    (cores,) = [one for one in document["stations"] if one["resource"] == "cores"]
    assert cores["waiting_share"] == pytest.approx(3 / 5)
    assert explanation(summary, "commit")["cores"] is None


def test_a_transaction_is_the_sum_of_its_queries_and_its_commit() -> None:
    summary = statement_sample(CARD).summary
    document = explanation(summary, None)
    assert document["of"] == "transaction"
    count = summary["latency_ns"]["transaction"]["count"]
    log = sum(one["count"] * one["breakdown_ns"]["log"] for one in summary["queries"].values())
    log += summary["latency_ns"]["commit"]["count"] * summary["commit_breakdown_ns"]["log"]
    assert next(part["ns"] for part in document["parts"] if part["part"] == "log") == pytest.approx(log / count)
    assert explanation(summary, "commit")["parts"][0]["part"] == "log"
    assert explanation(summary, "query 7123")["of"] == "query 7123"


def test_what_is_small_is_not_said_to_change_anything() -> None:
    changes = explanation(statement_sample(DISKS).summary, "7123")["changes"]
    assert {change["part"] for change in changes} <= {"cpu", "data read", "eviction"}
    assert all(change["at_most_share"] >= 0.02 for change in changes)


def test_the_bound_is_the_utilisation_law_or_what_the_run_says() -> None:
    summary = statement_sample(DISKS).summary
    bound = explanation(summary, None)["bound"]
    assert bound["ceiling"] == pytest.approx(1 / summary["bottleneck"]["utilisation"])
    assert "utilisation law" in bound["basis"]
    summary["load"]["sustainable_load"] = 0.83
    assert explanation(summary, None)["bound"]["ceiling"] == 0.83
    for busy in (0.6, 0.85):  # where it is known what transactions wait for, that limits them
        summary["bottleneck"]["utilisation"] = busy
        assert not explanation(summary, None)["bound"]["is_short"]
    assert explanation({**summary, "queries": {}}, None)["bound"]["is_short"]
    summary["bottleneck"]["utilisation"] = 0.97
    assert explanation(summary, None)["bound"]["is_short"]


def test_what_is_full_is_not_said_to_be_as_busy_as_another_part() -> None:
    summary = statement_sample(DISKS).summary
    summary["load"] |= {"sustainable_load": 0.83, "station": "buffer pool", "resource": "lookups"}
    bound = explanation(summary, None)["bound"]
    assert (bound["station"], bound["utilisation"]) == ("buffer pool", None)
    assert "% of the time" not in bound_text(bound)


def test_credits_that_run_out_are_said_beside_the_bound() -> None:
    summary = statement_sample(DISKS).summary
    balance = {"station": "data", "resource": "credits", "start": 1.0, "end": 0.4, "ran_out_ns": None}
    summary["credits"] = [balance | {"lasts_ns": 2e12}, balance | {"lasts_ns": None}]
    said = bound_text(explanation(summary, None)["bound"])
    assert "if a request keeps it busy as long as now and burst credits last)" in said
    assert said.endswith("; burst credits of data fall from 100.0 % to 40.0 % and run out after another 2,000 s of this"
                         " load.")  # fmt: skip
    summary["credits"] = [balance | {"end": 1.0, "lasts_ns": None}]  # none were spent, but the limit is that of a burst
    assert "and burst credits last)." in bound_text(explanation(summary, None)["bound"])


def test_a_saturated_run_has_no_shares_of_time_and_no_dip(monkeypatch: pytest.MonkeyPatch) -> None:
    steady, saturated = statement_sample(DISKS).summary, statement_sample(TOO_FEW_DISKS).summary
    for summary in (steady, saturated):
        summary["replay"]["keeps"] = "rate"
    shown: dict[str, list[str]] = {}
    monkeypatch.setattr(
        terminal, "show_table", lambda title, columns, rows, note: shown.update({row[0]: row[2:] for row in rows})
    )
    show_statements([steady, saturated], everything=False)
    assert shown["  waiting for data reads"] == ["57 %", ""]
    assert shown["transactions/s in a checkpoint"] == ["worst 5 s: 22 % below mean", ""]


def test_another_load_than_the_recorded_one_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the recorded transactions/s, those of twice the load look like faster storage."""
    titles: list[str] = []
    monkeypatch.setattr(terminal, "show_table", lambda title, *_: titles.append(title))
    for load in (1.0, 2.0):
        summary = statement_sample(DISKS).summary
        summary["replay"] |= {"keeps": "rate", "load": load}
        show_statements([summary], everything=False)
    assert ["run at 2 × the recorded load" in title for title in titles] == [False, True]


def test_a_station_says_how_long_a_request_is_there_and_how_much_of_that_it_waits() -> None:
    summary = statement_sample(DISKS).summary
    station = explanation(summary, None)["stations"][0]
    given = summary["stations"][station["station"]]
    assert station["time_there_ns"] == given["time_ns"]
    assert station["waiting_share"] == pytest.approx(max(1 - station["utilisation"] / given["queue_mean"], 0))
    assert explanation(statement_sample(CARD).summary, None)["stations"][0]["waiting_share"] is None  # many at a time


def test_a_saturated_run_has_no_parts() -> None:
    document = explanation(statement_sample(TOO_FEW_DISKS).summary, "7123")
    assert document["parts"] == []
    assert document["changes"] == []
    assert "saturated" in document["no_parts"]


def test_a_tenant_is_told_whom_it_waits_for_and_who_slows_it(shell: Shell, tmp_path: Path) -> None:
    """Times add up over the disks of a volume, the longest first; of the others, the one that slows it most first."""
    result = tenant("shop", 4.0, {"crm": 3.0, "bill": 2.0})
    document = explanation(result.summary, None)["tenants"]
    requests = result.summary["commands"]
    assert document["waits"] == [
        {"behind": "bill", "at": "data.*", "total_ns": 1e10, "per_request_ns": pytest.approx(1e10 / requests)},
        {"behind": "shop", "at": "data.*", "total_ns": 1e9, "per_request_ns": pytest.approx(1e9 / requests)},
    ]
    assert [(one["tenant"], one["saves_share"]) for one in document["without"]] == [("bill", 0.5), ("crm", 0.25)]
    assert (document["tenant"], document["mean_latency_ns"], document["alone_ns"]) == ("shop", 4e6, 2e6)
    save_result(result, tmp_path / "shop.result", {})
    said = shell("explain", tmp_path / "shop.result").out
    assert "Mean latency of all requests of shop: 4 ms together, 2 ms alone." in said
    assert said.index("bill") < said.index("its own requests")
    assert (
        "Mean without each other tenant, the one that slows it most first: bill 2 ms (-50 %), crm 3 ms (-25 %)." in said
    )
    assert explanation(statement_sample(DISKS).summary, None)["tenants"] is None
    save_result(tenant("shop", 4.0, {"crm": 3.99}), tmp_path / "shop.result", {}, force=True)
    assert "crm 3.99 ms (0 %)" in shell("explain", tmp_path / "shop.result").out


def test_a_saturated_tenant_has_no_mean_latency(shell: Shell, tmp_path: Path) -> None:
    """Its mean hangs on how long the recording is: it is in no table, sentence or comparison."""
    shop = tenant("shop", None, {"bill": 2.5, "crm": None})
    found = page_payload([shop], "x")["sharing"][0]["tenants"][0]
    assert (found["together_us"], found["without_us"]) == (None, {"bill": 2500, "crm": None})
    document = explanation(shop.summary, None)["tenants"]
    assert [(one["tenant"], one["mean_latency_ns"], one["saves_share"]) for one in document["without"]] == [
        ("bill", 2.5e6, None),
        ("crm", None, None),
    ]
    save_result(shop, tmp_path / "shop.result", {})
    said = shell("explain", tmp_path / "shop.result").out
    assert "Mean latency of all requests of shop: saturated together, 2 ms alone." in said
    assert "the one that slows it most first: bill 2.5 ms, crm saturated." in said


def test_requests_are_explained_by_their_stations(shell: Shell, replayed: Path) -> None:
    document = shell("explain", replayed / "15k-raid10.result", "--json").document()
    assert document["schema"] == "tiersim.explain/1"
    assert document["parts"] == []
    assert "not known of block requests" in document["no_parts"]
    assert document["stations"]
    said = shell("explain", replayed / "15k-raid10.result")
    assert re.search("Bottleneck: |No part is short of capacity. Busiest: ", said.out)
    assert "Calibration: none. What to measure first: " in said.out


def test_the_text_says_what_the_document_says(shell: Shell) -> None:
    (path,) = saved(shell.folder, disks=statement_sample(DISKS))
    document = shell("explain", path, "--query", "7123", "--json").document()
    said = shell("explain", path, "--query", "7123").out
    assert "SELECT abalance FROM pgbench_accounts" in said
    for part in document["parts"]:
        assert f"{part['share']:.1%}" in said
    assert "a larger buffer pool" in said


def test_a_p99_whose_error_nobody_knows_says_so(shell: Shell) -> None:
    paths = saved(shell.folder, guess=statement_sample(DISKS), known=checked(statement_sample(DISKS)))
    first, known = (shell("explain", path).out.splitlines()[0] for path in paths)
    assert first.endswith(" (error unknown)")
    assert "p99 " in known
    assert "unknown" not in known


def test_many_pages_and_requests_are_no_powers_of_ten(shell: Shell) -> None:
    result = statement_sample(DISKS)
    result.summary["queries"]["7123"]["physical_reads_per_call"] = 25_000.0
    for station in result.summary["stations"].values():
        station["queue_mean"] = 1234.5
    (path,) = saved(shell.folder, disks=result)
    said = shell("explain", path, "--query", "7123").out
    assert "25,000 pages are read a call" in said
    assert "1,234" in said
    assert "e+0" not in said + shell("explain", path).out


def test_a_p99_that_is_not_resolved_is_a_range_in_both(shell: Shell) -> None:
    wide = {"value": 10e6, "low": 5e6, "high": 12e6, "verdict": "not resolved", "of": "processors"}
    known = statement_sample(DISKS)
    first = replace(known, summary=known.summary | {"tails": {"share": 0.8, "p99_ns": {"transaction": wide}}})
    paths = saved(shell.folder, disks=first, others=known)
    assert "p99 5 ms – 12 ms" in shell("explain", paths[0]).out
    (row,) = [line for line in shell("compare", *paths).out.splitlines() if "transaction, p99" in line]
    assert "5 ms – 12 ms" in row
    assert "not resolved" in row
    assert "×" not in row


def test_calibrated_results_ask_for_no_measurement() -> None:
    summary = statement_sample(DISKS).summary
    assert "on the device of the recorded server" in explanation(summary, None)["measurement"]["what"]
    summary["verdict"]["calibration"] = "calibrated"
    assert explanation(summary, None)["measurement"] is None
    summary["verdict"]["storage"] = OTHER_STORAGE  # on which a model is not checked by what was recorded
    assert f"on the device of {summary['name']} at several" in explanation(summary, None)["measurement"]["what"]
    del summary["verdict"]["storage"]
    summary["verdict"]["reach"] = BEYOND
    assert "goes beyond its recording" in explanation(summary, None)["measurement"]["why"]


def test_a_failed_calibration_names_the_class_that_is_furthest_off() -> None:
    summary = statement_sample(DISKS).summary
    summary["verdict"]["calibration"] = "uncalibrated"
    classes = {"a": (True, -30.0), "b": (True, 12.0), "c": (False, 90.0), "d": (True, None)}
    summary["calibration"] = {
        "classes": {name: {"decides": one, "error_pct": error} for name, (one, error) in classes.items()}
    }
    assert explanation(summary, None)["measurement"]["furthest_off"] == {"class": "a", "error_pct": -30.0}


def test_an_unknown_query_is_named(shell: Shell, replayed: Path) -> None:
    (path,) = saved(shell.folder, disks=statement_sample(DISKS))
    assert "has no query '7124'; did you mean '7123'?" in shell.fails("explain", path, "--query", "7124")
    assert "is of requests and names no query" in shell.fails("explain", replayed / "pcie-flash.result", "--query", "1")


def test_measured_figures_of_a_recording() -> None:
    found = read_measured(CAPTURE)
    assert all(isinstance(one, MeasuredFigure) and one.value > 0 for one in found)
    assert len({(one.name, one.statistic) for one in found}) == len(found)


def test_what_measures_nothing_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text("[]")
    with pytest.raises(TraceError, match="holds no measured latency"):
        read_measured(file)


def test_time_outside_of_queries_is_a_part_of_a_mean_that_is_not_resolved() -> None:
    mean = {"value": None, "low": 600_000, "high": 1_400_000}
    summary = {
        "latency_ns": {"transaction": {"count": 20, "mean": mean}},
        "queries": {"q": {"count": 20, "breakdown_ns": {"cpu": 400_000.0}}},
    }
    assert time_of_transaction(summary) == {"cpu": 400_000, ELSEWHERE: 600_000}


def test_a_slower_query_in_a_faster_transaction_is_explained() -> None:
    """Of 1,000 µs, 600 were outside of the query; of 900 predicted ones 200 are."""

    def run(mean_ns: int, query_ns: int) -> dict[str, Any]:
        query = {"count": 1, "mean": {"value": query_ns}, "breakdown_ns": {"cpu": query_ns}}
        return {
            "name": "disks",
            "recorded_mean_ns": {"transaction": 1_000_000, "q": 400_000},
            "latency_ns": {"transaction": {"count": 1, "mean": {"value": mean_ns}}},
            "queries": {"q": query},
        }

    said = faster_outside([run(900_000, 700_000)], "q")
    assert said.endswith("(commit, client) took 600 µs in the recording; they take 200 µs on disks.")
    assert faster_outside([run(1_100_000, 700_000)], "q") == ""  # the transaction is slower, too
    assert faster_outside([run(900_000, 300_000)], "q") == ""
