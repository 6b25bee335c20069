"""Factors of samples' intervals: from figures whose distance from the whole is known, and from a recording."""

from pathlib import Path

import pytest

from benchmarks.sample_intervals import pairs as measuring
from benchmarks.sample_intervals.__main__ import FACTORS, main
from benchmarks.sample_intervals.factors import factor_of, factors, judged, lines
from benchmarks.sample_intervals.pairs import STATISTICS, Figure, Pair, pairs_of
from tests.explorations import small_recording
from tiersim.scenarios.exploring.sample_verdict import UNDECIDED


def test_the_factor_of_a_statistic_is_the_one_with_which_four_fifths_of_the_figures_hold_the_whole() -> None:
    """Recordings count alike, whatever the number of their figures."""
    offs = {"one": [0.5] * 60, "two": [1.0, 2.0], "three": [1.5], "four": [3.0], "five": [4.0]}
    figures = [(name, of_interval("p95", off)) for name, each in offs.items() for off in each]
    assert factor_of(figures) == pytest.approx(3.0)


def test_each_recording_is_judged_by_the_factors_of_the_others() -> None:
    offs = {"one": 0.5, "two": 1.0, "three": 9.0}
    pairs = [pair_of(name, *(of_interval(statistic, off) for statistic in STATISTICS)) for name, off in offs.items()]
    found = {(one.recording, one.statistic): one for one in judged(pairs)}
    assert {name: found[name, "p50"].holds for name in offs} == {"one": True, "two": True, "three": False}
    assert {name: found[name, "p50"].is_given for name in offs} == {"one": True, "two": True, "three": True}
    assert found["one", "p50"].half_width == pytest.approx(0.09)
    assert "3 pairs of 3 recordings" in "\n".join(lines(pairs))


def pair_of(name: str, *figures: Figure, verdict: str = "steady") -> Pair:
    """A pair whose whole carries the load."""
    return Pair(name, "pcie-flash", 1.0, verdict, "steady", figures)


def test_verdicts_that_are_withheld_count_apart() -> None:
    verdicts = ("steady", "steady", "behind", UNDECIDED)
    figures = [of_interval(statistic, 1.0) for statistic in STATISTICS]
    pairs = [pair_of(f"{number}", *figures, verdict=one) for number, one in enumerate(verdicts)]
    said = list(lines(pairs))[-1]
    assert said.endswith("given in 3 of 4 pairs, the same as of the whole in 2: 66.7 % of those given")


def of_interval(statistic: str, off: float, why_not: str | None = None) -> Figure:
    """A figure of 100 ± 1 whose whole lies *off* half-widths above."""
    return Figure("data read", statistic, 100.0, 99.0, 101.0, 100.0 + off, why_not)


def test_what_a_sample_cannot_tell_is_not_given_and_widens_no_interval() -> None:
    def of(off: float, why_not: str | None) -> tuple[Figure, ...]:
        return tuple(of_interval(statistic, off, why_not) for statistic in STATISTICS)

    pairs = [pair_of(name, *of(2.0, None), *of(50.0, "bursts")) for name in ("one", "two")]
    assert factors(pairs) == dict.fromkeys(STATISTICS, pytest.approx(2.0))
    assert [one.is_given for one in judged(pairs)] == [True, False] * 2 * len(STATISTICS)


def test_a_recording_gives_a_pair_for_each_scenario_and_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "SCENARIOS", ("pcie-flash",))
    found = list(pairs_of(small_recording(tmp_path)))
    assert [(one.scenario, one.load) for one in found] == [("pcie-flash", load) for load in measuring.LOADS]
    recorded = found[1]
    assert recorded.verdict == recorded.whole_verdict == "steady"
    assert {one.statistic for one in recorded.figures} <= set(STATISTICS)
    for one in recorded.figures:
        assert one.low <= one.value <= one.high
        assert one.whole == pytest.approx(one.value, rel=0.5)


def test_the_table_is_printed_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measuring, "SCENARIOS", ("pcie-flash",))
    bundles = []
    for name, requests in (("one", 8000), ("two", 12_000)):
        (tmp_path / name).mkdir()
        bundles.append(small_recording(tmp_path / name, requests))
    monkeypatch.setattr("sys.argv", ["sample_intervals", *map(str, bundles)])
    before = FACTORS.read_bytes()
    main()
    assert FACTORS.read_bytes() == before
    assert "6 pairs of 2 recordings" in capsys.readouterr().out
