"""The worst minute over shifts: what is added up, against trying everything; and planted bursts, in a simulation."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.examples import examples
from tests.test_tenants import shared
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.replay import PlayedRecording, play, survey_to_play
from tiersim.scenarios.tenants.demands import busy, worked_ns
from tiersim.scenarios.tenants.shifts import _LENGTHS, minute_ns, worst_beginnings
from tiersim.traces.bundle import Bundle, Requests, write_bundle
from tiersim.traces.schema import DATA_READ

S = 1_000_000_000


def asked(demands: list[list[int]], begins: list[int], shifts: tuple[int, ...], length: int) -> float:
    """The most that is asked for over *length* minutes that begin where the aligned time does, step by step."""
    end = max(begin + len(own) for begin, own in zip(begins, demands, strict=True))
    return max(
        sum(
            own[at + minute - begin - shift]
            for own, begin, shift in zip(demands, begins, shifts, strict=True)
            for minute in range(length)
            if 0 <= at + minute - begin - shift < len(own)
        )
        / length
        for at in range(end)
    )


@given(
    st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 5), min_size=1, max_size=6)), min_size=2, max_size=3),
    st.integers(0, 4),
)
@settings(deadline=None, max_examples=examples(60))
def test_no_shifts_ask_for_more_than_those_that_are_found(tenants: list[tuple[int, list[int]]], most: int) -> None:
    begins, demands = [begin for begin, _ in tenants], [own for _, own in tenants]
    found = worst_beginnings([{"disk": np.array(own, float)} for own in demands], begins, most)
    best = {
        length: max(
            asked(demands, begins, shifts, length) for shifts in product(range(-most, most + 1), repeat=len(begins))
        )
        for length in _LENGTHS
    }
    for one in found:
        assert one.place == "disk"
        assert max(map(abs, one.shifts)) <= most
        assert any(
            one.busy == pytest.approx(best[length])
            and asked(demands, begins, one.shifts, length) == pytest.approx(best[length])
            for length in _LENGTHS
        )
    assert [one.busy for one in found] == sorted((one.busy for one in found), reverse=True)


def test_what_only_one_asks_for_is_no_reason_to_shift() -> None:
    alone = [{"left": np.array([1.0, 0.0])}, {"right": np.array([0.0, 1.0]), "left": np.zeros(2)}]
    assert worst_beginnings(alone, [0, 0], 9) == []


def test_a_minute_is_no_shorter_than_an_interval_and_a_twelfth_of_what_is_short() -> None:
    assert minute_ns(3600 * S) == 60 * S
    assert minute_ns(120 * S) == 10 * S
    assert minute_ns(24 * 3600 * S) == 360 * S


def bursts(folder: Path, name: str, at_s: int, seed: int) -> None:
    """Two minutes of 20 reads a second, and 120 a second for 10 s."""
    generator = np.random.default_rng(seed)
    times = np.concatenate([generator.uniform(0, 120, 2400), generator.uniform(at_s, at_s + 10, 1000)])
    reads(folder / f"{name}.trace", np.sort(times * S).astype(np.int64), generator.integers(0, 1 << 24, len(times)))


def reads(target: Path, rows: NDArray[np.int64], pages: NDArray[np.int64], latency_ns: int = -1) -> None:
    """A recording of reads of pages at those times, by one session."""
    count = len(rows)
    nothing, small = np.full(count, -1, np.int64), np.zeros(count, np.uint8)
    with write_bundle(target) as (writer, fields):
        writer.file_names.append("data")
        writer.stream_names.append("one")
        fields["source_format"] = "made up"
        writer.append(
            Requests(
                time_ns=rows,
                op=small,
                file=np.zeros(count, np.int32),
                offset_bytes=pages * 8192,
                length_bytes=np.full(count, 8192, np.int64),
                stream=np.zeros(count, np.int32),
                purpose=np.full(count, DATA_READ, np.uint8),
                issue_ns=nothing,
                command=nothing,
                latency_ns=np.full(count, latency_ns, np.int64),
                flags=small,
            )
        )


def test_bursts_that_may_fall_together_are_found_and_simulated(tmp_path: Path) -> None:
    """Bursts at 30 s and 80 s: 50 s of shift bring them together, 10 s do not."""
    bursts(tmp_path, "a", 30, 1)
    bursts(tmp_path, "b", 80, 2)
    disk = '\n[volumes.disk]\ndevice = "seagate-cheetah-15k7-300"\n[placement]\ndefault = "disk"\n'
    said = '[tenants.a]\nrecording = "a.trace"\n[tenants.b]\nrecording = "b.trace"\n'
    found = {}
    for within in (30, 10):
        results = shared(tmp_path, f'shifts = "{within} s"\n{said}', disk, ["replay.mode=open"])
        found[within] = {one.name: one.together.summary["shared"]["worst_minute"] for one in results}
    for name, burst_s in (("a", 30), ("b", 80)):
        one = found[30][name]
        shifts = one["worst"]["shifts_ns"]
        assert shifts["a"] - shifts["b"] == pytest.approx(50 * S, abs=10 * S)
        assert one["worst"]["place"] == "disk arm of disk"
        assert one["worst"]["start_ns"] / S == pytest.approx(burst_s, abs=10)
        alone, aligned, worst = (one[key]["mean_latency_ns"] for key in ("alone", "aligned", "worst"))
        assert alone < aligned < worst
        assert one["minute_ns"] == pytest.approx(10 * S, rel=1e-3)
        assert found[10][name]["worst"]["mean_latency_ns"] < worst
        assert found[10][name]["aligned"] == one["aligned"]


def test_what_a_tenant_that_falls_behind_asks_for_late_is_seen(tmp_path: Path) -> None:
    """A session that waits for its disk comes to its far pages when the recording is over: no worst stretch is better
    than the mean of all, and what is kept busy then is added up, too.
    """
    pages = np.concatenate([np.arange(4000), np.random.default_rng(1).integers(0, 1 << 24, 4000)])
    for name in "ab":
        reads(tmp_path / f"{name}.trace", np.arange(8000) * S // 1000, pages, 900_000)
    disk = '\n[volumes.disk]\ndevice = "seagate-cheetah-15k7-300"\n[placement]\ndefault = "disk"\n'
    said = 'shifts = "2 s"\n[tenants.a]\nrecording = "a.trace"\n[tenants.b]\nrecording = "b.trace"\n'
    for one in shared(tmp_path, said, disk, ["replay.mode=closed"]):
        assert one.alone.summary["verdict"]["load"] == "behind"
        minute, alone = one.together.summary["shared"]["worst_minute"], one.together.summary["shared"]["alone"]
        assert minute["alone"]["mean_latency_ns"] >= alone["mean_latency_ns"]
        assert minute["aligned"]["mean_latency_ns"] >= one.together.summary["shared"]["mean_latency_ns"]
    scenario = load_scenario(str(tmp_path / "hardware.toml"), ["replay.mode=closed"])
    played = play([PlayedRecording(survey_to_play(Bundle(tmp_path / "a.trace"), [scenario]), scenario)])
    width_ns = minute_ns(played.parts[0].end_ns)
    own, whole = (found["disk arm of disk"] for found in (busy(played, width_ns), worked_ns(played)))
    assert len(own) * width_ns >= played.outcome.end_ns > 1.5 * played.parts[0].end_ns
    assert own.sum() * width_ns == pytest.approx(whole[-1])
