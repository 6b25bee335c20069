"""Claims and what is made of them, ranges over what is assumed, and that every founding claim is there."""

import csv
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tiersim.devices.catalogue import load_device
from tiersim.scenarios.database_models import EngineModel
from tiersim.scenarios.statements.engines import EngineSources
from tiersim.scenarios.statements.postgresql import postgresql
from tiersim.scenarios.validation import depth_sweep, founding, order_entry, ranges, registry, report
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.order_entry import ArrayRun, LoadOutcome
from tiersim.scenarios.validation.ranges import Assumed
from tiersim.simulator.database.checkpoint.checkpointer import Checkpoints

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (Claim("x", "", 100, 109, 10), "holds"),
        (Claim("x", "", 100, 111, 10), "fails"),
        (Claim("x", "", 100, 109, 10, low=100, high=118), "holds"),
        (Claim("x", "", 100, 109, 10, low=98, high=112), "underdetermined"),
        (Claim("x", "", 100, 111, 10, low=90, high=112), "underdetermined"),
        (Claim("x", "", 100, 150, 10, low=111, high=300), "fails"),
        (Claim("x", "", 100, 150, 10, low=80, high=300), "underdetermined"),
        (Claim("x", "", 100, 150, 10, low=80, high=300, widest=2), "fails"),
        (Claim("x", "", 100, 109, 10, low=60, high=121, widest=2), "fails"),
        (Claim("x", "", 100, 109, 10, low=61, high=121, widest=2), "underdetermined"),
        (Claim("x", "", 2, 2, 0, within=(1, 9), low=1, high=3, widest=2, kind="qualitative"), "qualitative fails"),
        (Claim("x", "", 100, 100, 10, fitted=True), "underdetermined"),
        (Claim("x", "", 100, 100, 10, underdetermined=True), "underdetermined"),
        (Claim("x", "", 100, 100.4, 0.5, kind="arithmetic"), "exact"),
        (Claim("x", "", 100, 100.6, 0.5, kind="arithmetic"), "fails"),
        (Claim("x", "", 50, 20, 0, at_most=True, kind="qualitative"), "qualitative holds"),
        (Claim("x", "", 50, 51, 0, at_most=True, kind="qualitative"), "qualitative fails"),
        (Claim("x", "", 50, 20, 0, at_most=True, low=10, high=51), "underdetermined"),
        (Claim("x", "", 50, 20, 0, at_most=True, low=10, high=49), "holds"),
        (Claim("x", "", 1.8, 2.4, 0, within=(1.3, 2.5)), "holds"),
        (Claim("x", "", 1.8, 2.6, 0, within=(1.3, 2.5)), "fails"),
        (Claim("x", "", 1.8, 2.4, 0, within=(1.3, 2.5), low=2.3, high=2.6), "underdetermined"),
    ],
)
def test_a_verdict_follows_from_figures_alone(claim: Claim, verdict: str) -> None:
    assert claim.verdict == verdict


def test_a_range_wider_than_the_tolerance_never_passes() -> None:
    for predicted in range(80, 121, 5):
        claim = Claim("x", "", 100, predicted, 10, low=predicted - 11, high=predicted)
        assert claim.verdict not in ("holds", "exact")


def _sum(values: Mapping[str, Any]) -> dict[str, float]:
    return {"sum": values["a"] + values["b"], "difference": values["a"] - values["b"]}


def test_a_range_has_the_ends_of_each_number_and_of_all_together() -> None:
    asked: list[Mapping[str, Any]] = []

    def predict(values: Mapping[str, Any]) -> dict[str, float]:
        asked.append(values)
        return _sum(values)

    found = ranges.over([Assumed("a", 0.0, 1.0, 4.0), Assumed("b", 0.0, 1.0, 2.0)], predict)
    assert found["sum"] == ranges.Range(2.0, 0.0, 6.0)
    assert found["difference"] == ranges.Range(0.0, -2.0, 4.0)
    assert len(asked) == 1 + 2 * 2 + 4
    assert asked[0] == {"a": 1.0, "b": 1.0}


def test_a_number_at_an_end_of_its_range_is_moved_to_the_other_alone() -> None:
    asked: list[Mapping[str, Any]] = []

    def predict(values: Mapping[str, Any]) -> dict[str, float]:
        asked.append(values)
        return {"a": values["a"] ** 2}

    assert ranges.over([Assumed("a", -1.0, 2.0, 2.0)], predict) == {"a": ranges.Range(4.0, 1.0, 4.0)}
    assert len(asked) == 2


def test_what_a_device_file_calls_assumed_has_the_ends_that_it_names() -> None:
    drive = load_device("seagate-cheetah-15k5-300")
    found = {one.name: one for one in ranges.of_device(drive, ("flush",))}
    assert (found["seek_average"].low, found["seek_average"].taken, found["seek_average"].high) == (
        3_400_000, 3_500_000, 4_000_000
    )  # fmt: skip
    assert (found["buffer_segments"].low, found["buffer_segments"].high) == (8, 64)  # behind them stands why
    assert str(found["command_overhead"]) == "command_overhead 100 µs (0.05 ms .. 0.2 ms)"
    assert "flush" not in found
    assert "capacity" not in found


def test_every_founding_claim_is_in_the_document() -> None:
    """What the document has is what the command writes (:mod:`tests.test_validation`)."""
    text = (ROOT / "docs/accuracy.md").read_text()
    listed = set(re.findall(r"^\| (G\d\d) \|", text, re.MULTILINE))
    assert listed == set(founding.CLAIMS)
    assert list(founding.CLAIMS) == [f"G{number:02}" for number in range(1, 25)]


@pytest.mark.shared
def test_the_list_is_that_of_the_golden_figures(shared: Path) -> None:
    with next(shared.rglob("seed_golden_experiments.csv")).open() as lines:
        rows = {row["id"]: row["seed"] for row in csv.DictReader(lines)}
    assert set(rows) == set(founding.CLAIMS)
    for id, seed in rows.items():
        assert founding.CLAIMS[id].startswith(seed[4:7])


def test_every_founding_claim_stands_in_the_accuracy_document() -> None:
    """Which says what the command writes: that is looked at, section by section."""
    document = (Path(__file__).resolve().parents[1] / "docs/accuracy.md").read_text()
    assert set(re.findall(r"^\| (G\d\d) \|", document, re.MULTILINE)) == set(founding.CLAIMS)


def test_arithmetic_is_exact_but_where_a_document_contradicts_itself() -> None:
    claims = founding.experiment().claims
    for id in ("G01", "G07", "G11", "G14", "G16", "G18"):
        own = [claim for claim in claims if claim.id == id]
        assert own
        assert all(claim.verdict in ("exact", "qualitative holds") for claim in own if "contradict" not in claim.note)
    assert sum(claim.verdict == "fails" for claim in claims) == 2
    assert all("contradicts itself" in claim.note for claim in claims if claim.verdict == "fails")


def test_a_balanced_network_is_mean_value_analysis() -> None:
    """Against the recursion, station by station."""
    demand_s, stations = 0.16, 16
    waiting = [0.0] * stations
    for users in range(1, 49):
        residence = [demand_s / stations * (1 + queue) for queue in waiting]
        per_s = users / sum(residence)
        waiting = [per_s * time for time in residence]
        assert founding.balanced_network(demand_s, stations, users) == pytest.approx(per_s)


def _twice(found: Mapping[int, int], but: int | None = None) -> dict[int, int]:
    return {key: value if key == but else 2 * value for key, value in found.items()}


def test_other_measurements_of_the_network_move_no_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    def network() -> Claim:
        return next(claim for claim in founding.experiment().claims if claim.id == "G14")

    before = network()
    monkeypatch.setattr(founding, "DISKS", _twice(founding.DISKS, but=8))
    assert network().predicted == before.predicted
    assert network().published == 2 * before.published


def _load(part: ArrayRun, users: int, values: Mapping[str, Any] | None = None) -> LoadOutcome:
    """Stands for a run: a network that is faster on SSDs."""
    per_min = (30_000 if part is order_entry.ON_SSDS else 1_400) * users / (8 + users / 4)
    return LoadOutcome(per_min, 60_000 * users / per_min, (10.0, 20.0))


def test_other_measurements_of_orders_move_no_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_entry, "run", _load)
    before = order_entry.experiment().claims
    monkeypatch.setattr(order_entry, "DISKS", _twice(founding.DISKS, but=8))
    monkeypatch.setattr(order_entry, "SSDS", _twice(founding.SSDS, but=8))
    monkeypatch.setattr(order_entry, "RATIOS", {users: (1, 10) for users in founding.RATIOS})
    after = order_entry.experiment().claims
    assert [claim.predicted for claim in after] == [claim.predicted for claim in before]
    assert [claim.published for claim in after] != [claim.published for claim in before]


def test_other_measurements_of_a_drive_move_no_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depth_sweep, "_COMMANDS", 5_000)
    monkeypatch.setattr(depth_sweep, "_CACHED_COMMANDS", 2_000)
    monkeypatch.setattr(depth_sweep, "MEASURED", {1: 358, 8: 752})
    before = [claim.predicted for claim in depth_sweep.experiment().claims]
    monkeypatch.setattr(depth_sweep, "MEASURED", {1: 1, 8: 2})
    assert [claim.predicted for claim in depth_sweep.experiment().claims] == before


SMALL = {
    "order-entry-hdd": ArrayRun("order-entry-hdd", 400, 2, 20, 400),
    "order-entry-ssd": ArrayRun("order-entry-ssd", 400, 2, 2, 9000),
}


@pytest.mark.parametrize(
    ("scenario", "better", "worse"),
    [
        ("order-entry-hdd", "volumes.data.count=16", "volumes.data.count=12"),
        ("order-entry-hdd", "engine.os_cache=92 GiB", "engine.os_cache=10 GiB"),
        ("order-entry-ssd", "host.core_speed=1", "host.core_speed=0.3"),
    ],
)
def test_better_hardware_takes_more_orders(scenario: str, better: str, worse: str) -> None:
    part = SMALL[scenario]
    more, less = (order_entry.run(part, 16, settings=[setting]).orders_per_min for setting in (better, worse))
    assert more > 1.1 * less


@pytest.mark.parametrize(("version", "segments"), [("9.4", 4096), ("9", 4096), ("18", 38)])
def test_checkpoint_segments_count_before_9_5(version: str, segments: int) -> None:
    engine = EngineModel.model_validate(
        {"checkpoint_segments": 4096, "max_wal_size": "1 GiB", "checkpoint_completion_target": 0.67}
    )
    found = postgresql(EngineSources(engine, {}, version, 8192, 1 << 30, None, 1 << 30, 0), {}).checkpoints
    assert isinstance(found, Checkpoints)
    assert found.segments == segments


def test_ssds_take_more_orders_than_disks() -> None:
    disks, ssds = (order_entry.run(part, 8) for part in SMALL.values())
    assert ssds.orders_per_min > 10 * disks.orders_per_min
    ratio = disks.orders_per_min / ssds.orders_per_min
    assert ssds.mean_ms / disks.mean_ms == pytest.approx(ratio, abs=0.03)  # a closed loop


def test_the_document_of_claims_has_the_keys_that_are_promised() -> None:
    claim = Claim("x", "ms", 100, 95, 10, id="G01", low=90, high=99)
    found = Experiment(
        "one", "One", "somebody", "nothing", (claim, replace(claim, fitted=True)), fits=1, assumed=("a 1 (0 .. 2)",)
    )
    document = report.document([found])
    assert document["schema"] == "tiersim.validate/1"
    first, second = document["claims"]
    assert {
        key: first[key]
        for key in (
            "id",
            "claim",
            "published",
            "predicted",
            "low",
            "high",
            "tolerance_pct",
            "fitted",
            "assumed",
            "verdict",
        )
    } == {
        "id": "G01",
        "claim": "x",
        "published": 100,
        "predicted": 95,
        "low": 90,
        "high": 99,
        "tolerance_pct": 10,
        "fitted": 1,
        "assumed": 1,
        "verdict": "holds",
    }
    assert first["error_pct"] == pytest.approx(-5)
    assert first["fitted_on"] == "nothing"
    assert (second["fitted_on"], second["verdict"]) == ("this figure", "underdetermined")
    assert (first["figure"], document["experiments"][0]["basis"]) == (None, "assumed")


def test_tables_show_ids_ranges_and_notes_where_there_are_any() -> None:
    plain = Experiment("one", "One", "somebody", "nothing", (Claim("x", "ms", 100, 95, 10),))
    columns, rows = report.table(plain)
    assert columns == ["claim", "unit", "published", "predicted", "error", "tolerance", "verdict"]
    assert rows == [["x", "ms", "100", "95", "-5.0 %", "±10 %", "holds"]]
    ranged = replace(
        plain, claims=(Claim("x", "ms", 100, 80, 10, id="G02", low=70, high=85, note="it is told otherwise"),)
    )
    columns, rows = report.table(ranged)
    assert columns == ["id", "claim", "unit", "published", "predicted", "range", "error", "tolerance", "verdict"]
    assert rows[0][5] == "70 .. 85"
    text = report.markdown([ranged])
    assert "| G02 | x | ms | 100 | 80 | 70 .. 85 | -20.0 % | ±10 % | **fails** |" in text
    assert "* G02, x: it is told otherwise" in text
    assert "0 of 1 claims hold." in text


def test_the_quick_run_takes_less_than_ten_minutes_by_what_was_measured() -> None:
    seconds = [registry.EXPERIMENTS[name].seconds for name in registry.quick_names()]
    assert sum(one for one in seconds if one is not None) < 600
    assert None not in seconds
