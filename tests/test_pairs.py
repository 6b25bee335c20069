"""Cells predicted from one another: what of that is a claim, and how pairs are drawn."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.real_postgres.less import lessened
from tests.accuracy_document import DOCUMENT
from tests.runs import needs_jit
from tests.test_real_postgres_matrix import cell
from tiersim.cli.page.validation import build_validation_page
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.validation import interval_report, report, uncalibrated
from tiersim.scenarios.validation.claims import Experiment
from tiersim.scenarios.validation.half_hour import _more
from tiersim.scenarios.validation.matrix_cells import COUNTERS, Cell, cells_of
from tiersim.scenarios.validation.pair_figures import Pair, Predicted, pairs_of
from tiersim.scenarios.validation.pairs import judged, others_of, predict, results_of
from tiersim.traces.samples import matrix, second_host, unseen
from tiersim.units import NS_PER_S


def named(name: str, one: Cell, load: str = "reads") -> Cell:
    return Cell(name, load, *list(vars(one).values())[2:])


FREE, MILD, SLOW = named("free", cell(1000)), named("mild", cell(700, iops=2000)), named("slow", cell(100, iops=200))
CELLS = (FREE, MILD, SLOW)


def predicted(tps: float, *, p95_ms: float = 2.0, slow: float = 0.0, low: float = 0.9, high: float = 1.1) -> Predicted:
    return Predicted(tps, low * tps, high * tps, 1.0, p95_ms, slow, 0.2, 25_000, True, False, (), "calibrated")


def pair(found: Predicted, source: Cell = SLOW, target: Cell = FREE) -> Pair:
    (only,) = pairs_of(CELLS, {(source.name, target.name): found})
    return only


def experiment(tps: float) -> Experiment:
    """The slow cell and the free one, each from the other."""
    return judged(
        CELLS,
        {("slow", "free"): predicted(tps), ("free", "slow"): predicted(100), ("free", "mild"): predicted(690)}
        | {
            (source.name, target.name): predicted(target.figures["tps"])
            for source in CELLS
            for target in CELLS
            if source != target
            and (source.name, target.name) not in (("slow", "free"), ("free", "slow"), ("free", "mild"))
        },
    )


def test_errors_are_shares_of_what_was_measured() -> None:
    found = pair(predicted(1200, p95_ms=2.2))
    assert (found.kinds, found.pools) == ("saturated to free", "same")
    assert found.error == pytest.approx(0.2)
    assert found.unchanged == pytest.approx(-0.9)
    assert found.scaled == pytest.approx(-0.9)
    assert found.p95 == pytest.approx(0.1)


def test_cells_that_are_alike_are_no_pair() -> None:
    alike = named("alike", cell(1100))
    assert pairs_of((FREE, alike), {("alike", "free"): predicted(1000)}) == []


def test_how_long_targets_run_is_not_asked_of_the_recorded_hardware(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That runs the recorded load, and refuses another time."""
    (tmp_path / COUNTERS).mkdir()
    asked_ns: list[int | None] = []

    def replayed(
        bundle: object, scenarios: Sequence[NamedScenario], *, recorded_on: NamedScenario, ranges: bool
    ) -> list[None]:
        asked_ns.extend(one.model.replay.duration for one in (recorded_on, *scenarios))
        return [None] * len(scenarios)

    monkeypatch.setattr("tiersim.scenarios.validation.pairs.import_trace", lambda sources, target: None)
    monkeypatch.setattr("tiersim.scenarios.validation.pairs.Bundle", str)
    monkeypatch.setattr("tiersim.scenarios.validation.pairs.replay_statements_all", replayed)
    results_of(replace(SLOW, folder=tmp_path), [FREE], ranges=False, asked=["replay.duration=1800 s"])
    assert asked_ns == [None, 1800 * NS_PER_S]


def test_half_an_hour_tells_who_writes_pages_how_long_commits_take_and_how_often_all_stop(tmp_path: Path) -> None:
    """Pages may be off by 15 %, or by 2 % of all; stalls as chance lets two repeats have them."""
    counted = {f"{who}/relation/normal.writes": pages for who, pages in (
        ("client backend", 500), ("background writer", 800), ("checkpointer", 5)
    )}  # fmt: skip
    for number, stalls in ((1, 20), (2, 30)):
        measured = {"transactions": 1000, "counted": counted, "stalls": {"count": stalls}}
        folder = tmp_path / f"tpcb-256-1000-{number}"
        folder.mkdir()
        (folder / "result.json").write_text(json.dumps({**measured, "commits": {"quantiles_ms": {"0.99": 2.0}}}))
    target = replace(SLOW, name="tpcb-256-1000", folder=tmp_path / "tpcb-256-1000-1")
    result: Any = SimpleNamespace(
        summary={
            "replay": {"transactions_done": 100},
            "pages_written": {"sessions": 50, "background_writer": 60, "checkpoints": 2},
            "latency_ns": {"commit": {"p99": {"value": 2.2e6}}},
            "stalls": {"count": 26},
        }
    )
    assert [(claim.what, claim.published, claim.verdict) for claim in _more(target, result)] == [
        ("pages a transaction that sessions wrote", 0.5, "holds"),
        ("pages a transaction that the background writer wrote", 0.8, "fails"),
        ("pages a transaction that checkpoints wrote", 0.005, "holds"),
        ("commits: p99", 2.0, "holds"),
        ("stalls longer than 1 s", 25, "holds"),
    ]


def test_an_interval_that_holds_what_was_measured() -> None:
    assert pair(predicted(950)).held
    assert not pair(predicted(900)).held
    assert pair(predicted(950)).factor == pytest.approx(1.1 / 0.9)


@pytest.mark.parametrize(("p95_ms", "slow", "near"), [(2.4, 0.5, True), (20, 0.02, True), (20, 0.04, False)])
def test_a_tail_is_near_by_its_percentile_or_by_the_share_of_slow_ones(p95_ms: float, slow: float, near: bool) -> None:
    assert pair(predicted(1000, p95_ms=p95_ms, slow=slow)).tail_is_near == near


@pytest.mark.parametrize(("tps", "verdict"), [(1090, "holds"), (1110, "fails"), (880, "fails")])
def test_a_block_holds_where_its_median_is_near_and_no_guess_is_better(tps: float, verdict: str) -> None:
    claims = {claim.what.partition(":")[0]: claim for claim in experiment(tps).claims}
    assert claims["saturated to free, pool same"].verdict == verdict
    assert claims["saturated to free, pool same"].note == (verdict == "fails") * "each cell was measured once"
    assert claims["free to saturated, pool same"].verdict == "holds"
    assert claims["transactions"].predicted == 100


def test_a_block_that_fails_says_how_far_repeats_are_apart() -> None:
    repeated = [named("slow", cell(100, iops=200, spread=0.02)), named("free", cell(1000, spread=0.05))]
    found = judged(repeated, {("slow", "free"): predicted(1110), ("free", "slow"): predicted(100)})
    notes = [claim.note for claim in found.claims if claim.note]
    assert notes == ["repeats of the asked cells are 5.0 % apart, of the recorded ones 2.0 %"]


def test_a_guess_that_is_better_than_the_prediction_fails_it() -> None:
    """Half the cap is half the throughput, as it was measured; 4 % off is near, and worse."""
    half = named("half", cell(50, iops=100))
    found = judged((SLOW, half), {("slow", "half"): predicted(52), ("half", "slow"): predicted(100)})
    assert next(iter(found.claims)).verdict == "fails"


def test_a_map_has_every_pair_and_nothing_from_a_cell_to_itself() -> None:
    own, unchanged, _ = experiment(1200).maps[:3]
    assert own.labels == ("128 MiB, free", "128 MiB, 2,000/s", "128 MiB, 200/s")
    assert [row[place] for place, row in enumerate(own.off_pct)] == [None] * 3
    assert own.off_pct[2][0] == pytest.approx(20)
    assert unchanged.off_pct[2][0] == pytest.approx(-90)
    assert (own.is_guess, unchanged.is_guess) == (False, True)


def test_the_document_has_the_predicted_map_and_the_page_the_guesses_too(tmp_path: Path) -> None:
    found = experiment(1200)
    text = report.markdown([found])
    assert "| 128 MiB, 200/s | +20 | +0 |  |" in text
    assert "a guess" not in text
    page = build_validation_page([found])
    assert page.count('<table class="heat">') == 9
    assert '<td class="fast" style="--far: 18%">+20</td>' in page
    assert '<td class="fails">fails</td>' in page
    assert "<script" not in page
    assert report.document([found])["experiments"][0]["maps"][0]["off_pct"][2][0] == pytest.approx(20)


def test_without_a_calibration_a_map_has_the_cells_without_a_cap_above(tmp_path: Path) -> None:
    """A cell that nothing is predicted from has no row."""
    large = replace(named("large", cell(2000)), pool_mib=384)
    cells = [large, *CELLS]
    found = uncalibrated.judged(
        cells, {("slow", "free"): 1300, ("slow", "large"): 1800, ("free", "large"): 2100}, "uncalibrated"
    )
    drawn = found.maps[0]
    assert drawn.labels == ("128 MiB, free", "128 MiB, 200/s")
    assert drawn.columns == ("128 MiB, free", "384 MiB, free")
    assert drawn.off_pct[0][0] is None
    assert drawn.off_pct[0][1] == pytest.approx(5)
    assert drawn.off_pct[1] == pytest.approx((30, -10))
    capped, free, near = found.claims
    assert (capped.predicted, capped.published) == pytest.approx((20, (90 + 95) / 2))
    assert (free.predicted, free.published) == pytest.approx((5, 50))
    assert near.predicted == pytest.approx(200 / 3)
    assert near.verdict == "fails"
    assert "| 128 MiB, 200/s | +30 | -10 |" in report.markdown([found])
    assert "Basis: clients." in report.markdown([found])
    assert {one.basis for one in interval_report.measurements_of_maps(found)} == {"clients"}


def test_cells_that_were_measured_once_have_no_number_of_a_repeat(tmp_path: Path) -> None:
    second_host(tmp_path)
    for folder in list(tmp_path.iterdir()):
        folder.rename(folder.with_name(folder.name.removesuffix("-1")))
    cells = cells_of(tmp_path)
    assert len(cells) == 16
    assert "reads-64-r450" in {one.name for one in cells}
    assert all(one.figures["spread"] == 0 for one in cells)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("updates-32-d300", "counted", " with CPU as it was counted"),
        ("updates-32-d300", "uncalibrated", " without a calibration"),
        ("tpcb-384-free", "counted", " with CPU as it was counted"),
        ("tpcb-384-free", "busy", " with CPU of a busy host"),
    ],
)
def test_a_row_without_a_calibration_is_what_is_predicted(name: str, kind: str, said: str, tmp_path: Path) -> None:
    """``tiersim validate counted busy uncalibrated`` writes all rows."""
    matrix(tmp_path)
    cells = cells_of(tmp_path)
    (source,) = [one for one in cells if one.name == name]
    found = uncalibrated.predicted_of(source, cells, kind)
    assert found
    header, row = documented(source, said)
    of_label = {one.label: one for one in others_of(source, cells)}
    for label, off in zip(header, row, strict=True):
        target = of_label.get(label)
        tps = None if target is None else found.get(target.name)
        assert off == ("" if tps is None or target is None else report.off(100 * (tps / target.figures["tps"] - 1)))


@pytest.mark.long
@pytest.mark.parametrize("name", ["reads-32-r250", "updates-32-d300", "updates-384-log400", "tpcb-384-free"])
def test_a_row_of_the_accuracy_document_is_what_is_predicted(name: str, tmp_path: Path) -> None:
    """From slow storage and fast, a small pool and a large one, a cap of the log; ``tiersim validate pairs`` writes all
    rows.
    """
    matrix(tmp_path)
    cells = cells_of(tmp_path)
    (source,) = [one for one in cells if one.name == name]
    found = predict(source, others_of(source, cells), ranges=False)
    header, row = documented(source)
    of_label = {one.label: one for one in others_of(source, cells)}
    assert len(header) == len(row) == len(cells) // 3
    for label, off in zip(header, row, strict=True):
        if label == source.label:
            assert off == ""
            continue
        target = of_label[label]
        assert off == report.off(100 * (found[target.name].tps / target.figures["tps"] - 1)), label


def documented(source: Cell, how: str = "") -> tuple[list[str], list[str]]:
    """The labels of what is predicted in the accuracy document, and by how much each is off when it is predicted from
    *source*.
    """
    title = {"reads": "Lookups", "updates": "Updates", "tpcb": "TPC-B-like transactions"}[source.load]
    section = DOCUMENT.read_text(encoding="utf-8").partition(f"{title}{how}: predicted transactions/s, off by %:")[2]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("|")]
    row = next(row for row in rows[1:] if row[0] == source.label)
    return rows[0][1:], row[1:]


def from_less(
    source: str, target: str, folder: Path, *, ranges: bool, missing: Sequence[str] = ("timing", "host", "pages")
) -> tuple[Predicted, float]:
    """What is predicted without what is *missing*, and what was measured."""
    matrix(folder / "cells")
    cells = {one.name: one for one in cells_of(folder / "cells")}
    less = lessened(cells[source].folder, folder / "less", missing)
    (found,) = predict(replace(cells[source], folder=less), [cells[target]], ranges=ranges).values()
    return found, cells[target].figures["tps"]


@pytest.mark.long
@needs_jit
@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("reads-32-r250", "reads-128-r700", "reads of pages were not timed"),
        ("updates-32-d300", "updates-128-d1500", "by how long sessions waited for their clients"),
    ],
)
def test_where_nothing_says_what_was_cpu_it_is_assumed_and_said(
    source: str, target: str, reason: str, tmp_path: Path
) -> None:
    found, measured = from_less(source, target, tmp_path, ranges=False)
    assert found.tps == pytest.approx(measured, rel=0.15)
    assert not found.calibrated
    assert reason in found.reasons[0]


@pytest.mark.long
@needs_jit
def test_a_log_that_was_slower_than_described_is_no_cpu(tmp_path: Path) -> None:
    """A recording whose log had a cap that the scenario of its hardware leaves out."""
    matrix(tmp_path)
    cells = {one.name: one for one in cells_of(tmp_path)}
    capped, free = cells["updates-32-log400"], cells["updates-32-free"]
    (found,) = predict(replace(capped, log_iops=None), [free], ranges=False).values()
    assert not found.calibrated
    too_fast, unknown = found.reasons
    assert too_fast.startswith("The described hardware is too fast")
    assert "Until then 25 µs of CPU for a WAL write are assumed" in unknown
    assert found.tps == pytest.approx(free.figures["tps"], rel=0.25)


@needs_jit
@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "target"), [("reads-32-r250", "reads-384-free"), ("updates-32-d300", "updates-128-d1500")]
)
def test_the_range_of_what_is_assumed_holds_what_was_measured(source: str, target: str, tmp_path: Path) -> None:
    found, measured = from_less(source, target, tmp_path, ranges=True)
    assert found.tps_low < measured < found.tps_high
    assert found.underdetermined == target.endswith("free")


@needs_jit
@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "target", "reason", "near"),
    [
        ("reads-32-r700", "reads-384-free", "where a read takes 11.2 ms, its time does not tell", 0.15),
        ("tpcb-32-log400", "tpcb-384-free", "by how long sessions waited for their clients", 0.15),
        ("tpcb-32-d1500", "tpcb-384-free", "by how long sessions waited for their clients", 0.2),
    ],
)
def test_where_storage_is_slow_time_that_sessions_do_not_wait_for_it_tells_what_clients_cost(
    source: str, target: str, reason: str, near: float, tmp_path: Path
) -> None:
    """The device limits the recorded load, and nobody counted what the processors did."""
    found, measured = from_less(source, target, tmp_path, ranges=True, missing=["host"])
    assert reason in found.reasons[0]
    assert not found.calibrated
    assert found.tps == pytest.approx(measured, rel=near)
    assert found.tps_low < measured < found.tps_high


@pytest.mark.long
def test_a_row_of_the_unseen_cells_is_what_is_predicted(tmp_path: Path) -> None:
    """``tiersim validate unseen`` writes all rows."""
    unseen(tmp_path)
    cells = cells_of(tmp_path)
    assert len(cells) == 16
    (source,) = [one for one in cells if one.name == "reads-48-r350"]
    found = predict(source, others_of(source, cells), ranges=False)
    header, row = documented(source, ", unseen cells")
    of_label = {one.label: one for one in others_of(source, cells)}
    said = {label: off for label, off in zip(header, row, strict=True) if label != source.label}
    assert said == {
        label: report.off(100 * (found[one.name].tps / one.figures["tps"] - 1)) for label, one in of_label.items()
    }
