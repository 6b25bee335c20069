"""A fit finds again what a known drive was made of, predicts what was left out, and says what it was not told."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tomli_w

from tests.fio_documents import document, job
from tests.load_generator import flushed, flushes, mix, points, random_reads
from tiersim.devices.catalogue import read_device
from tiersim.devices.ssd.flash import Flash
from tiersim.errors import ScenarioError
from tiersim.parallel import Newest
from tiersim.scenarios.calibration.fitting import loops
from tiersim.scenarios.calibration.fitting.devicefile import (
    WOULD_TELL,
    between,
    device_file,
    interval,
    what_is_open,
)
from tiersim.scenarios.calibration.fitting.fit import Fit, fit_loops
from tiersim.scenarios.calibration.fitting.loops import simulate
from tiersim.scenarios.calibration.fitting.model import PARAMETERS, device, device_values, start
from tiersim.scenarios.calibration.fitting.residuals import FitRange, Residual, said_of_errors
from tiersim.scenarios.calibration.fitting.targets import FitTarget, HostSpread, Latencies, Setting, targets
from tiersim.scenarios.caveats import of_hardware
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.validation import flash_drive
from tiersim.traces.readers.load_generators import measurements

#: The drive that was "measured".
KNOWN = start() | {
    "unloaded_read_ns": 95_000,
    "sense_ns": 68_000,
    "fast_page": 0.85,
    "slow_page": 1.2,
    "transfer_ns": 8_000,
    "link_bytes_per_s": 2e9,
    "dies": 16,
    "planes": 2,
    "page_units": 8,
    "spread": 4,
    "program_ns": 900_000,
    "program_units": 24,
    "write_ns": 14_000,
    "flush_ns": 700_000,
    "flush_interval_ns": 20_000,
}
#: Commands of runs that fill the write buffer.
LONG = 24_000
FITTED_TO = [
    *(random_reads(4096, depth) for depth in (1, 4, 16, 64)),
    *(random_reads(size, depth) for size in (16 << 10, 64 << 10, 256 << 10, 1 << 20) for depth in (1, 32)),
]
LEFT_OUT = [random_reads(4096, depth) for depth in (2, 8, 32)] + [
    random_reads(size, depth) for size in (32 << 10, 128 << 10) for depth in (1, 32)
]


@contextmanager
def commands(count: int) -> Iterator[None]:
    """Runs of so many commands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "simulate", partial(simulate, commands=count))
        yield


@pytest.fixture(scope="module", autouse=True)
def _short_runs() -> Iterator[None]:
    """A sixth of the commands: the same search in a sixth of the time."""
    with commands(4_000):
        yield


@pytest.fixture(scope="module")
def of_reads(tmp_path_factory: pytest.TempPathFactory) -> Fit:
    path = tmp_path_factory.mktemp("reads") / "points.csv"
    path.write_text(points(KNOWN, FITTED_TO))
    found, left_out = targets(measurements(path))
    assert left_out == []
    return fit_loops(found)


@pytest.fixture(scope="module")
def of_writes(tmp_path_factory: pytest.TempPathFactory) -> Fit:
    """Of reads at two depths, mixes, and writes alone; runs are so long that the write buffer fills."""
    path = tmp_path_factory.mktemp("writes") / "points.csv"
    with commands(LONG):
        path.write_text(points(KNOWN, [random_reads(4096, 1), random_reads(4096, 16), mix(8), mix(32), mix(1, 0.0)]))
        return fit_loops(targets(measurements(path))[0])


@pytest.mark.long
def test_a_read_from_memory_parts_the_flash_from_what_is_beside_it() -> None:
    """Sequential reads alone that the drive had read ahead."""
    setting = Setting("sequential", 4096, 1, 1, 1.0, 0)
    depths = []
    for depth in (1, 16):
        rate, latencies = simulate(device(KNOWN), Setting("random", 4096, depth, 1, 1.0, 0), (50.0, 95.0), 4_000)
        depths.append(FitTarget(Setting("random", 4096, depth, 1, 1.0, 0), rate, latencies, 1))
    ahead = FitTarget(setting, 50_000, {"read": Latencies(19_000.0, {50.0: 19_000.0})}, 1)
    values = fit_loops([*depths, ahead]).values
    assert values["unloaded_read_ns"] - values["sense_ns"] - values["transfer_ns"] == pytest.approx(19_000)
    assert values["sense_ns"] == pytest.approx(KNOWN["sense_ns"], rel=0.05)


def test_a_host_adds_what_reads_from_memory_show_to_requests_alone() -> None:
    host = HostSpread.of_reads_from_memory(Latencies(12_000.0, {50.0: 10_000.0, 95.0: 14_000.0, 99.0: 28_000.0}))
    drawn = host.drawn_ns(20_000, 4096)
    longer = replace(host, ns_per_byte=0.5, block_bytes=4096)
    assert np.allclose(longer.drawn_ns(20_000, 12_288) - drawn, 4_096)
    assert np.allclose(longer.drawn_ns(20_000, 512), drawn)
    assert np.quantile(drawn, (0.5, 0.95, 0.99)) == pytest.approx([0, 4_000, 18_000], abs=600)
    percents = (50.0, 95.0, 99.0)
    for depth, added_ns in ((1, (0, 4_000, 18_000)), (16, (0, 0, 0))):
        setting = Setting("random", 4096, depth, 1, 0.0, 0)  # writes into the buffer, which all take as long
        (_, quiet), (_, found) = (
            simulate(device(KNOWN), setting, percents, 4_000, one) for one in (HostSpread(), host)
        )
        more = [found["write"].percentiles_ns[one] - quiet["write"].percentiles_ns[one] for one in percents]
        assert more == pytest.approx(list(added_ns), abs=1_500), depth
    assert not HostSpread.of_reads_from_memory(Latencies(12_000.0, {95.0: 14_000.0})).drawn_ns(3, 4096).any()


def test_of_writes_into_the_buffer_the_median_counts() -> None:
    setting = mix(1, 0.0)
    rate, latencies = simulate(device(KNOWN), setting, (50.0,), 4_000)
    median_ns = latencies["write"].percentiles_ns[50.0]
    with_tail = Latencies(1.3 * median_ns, {50.0: median_ns, 95.0: 2 * median_ns, 99.0: 5 * median_ns})
    found = loops.residuals_of_loops([FitTarget(setting, rate, {"write": with_tail}, 1)], KNOWN)
    assert {one.figure for one in found if one.weight} == {"p50"}
    assert next(one for one in found if one.figure == "p50").error_pct == pytest.approx(0, abs=0.1)
    saturated = FitTarget(mix(32, 0.0), rate, {"write": Latencies(30 * median_ns, {50.0: 9 * median_ns})}, 1)
    both = [FitTarget(setting, rate, {"write": with_tail}, 1), saturated]
    assert all(one.weight for one in loops.residuals_of_loops(both, KNOWN) if one.what == str(saturated.setting))


def means_ns(values: dict[str, float], setting: Setting) -> dict[str, float]:
    _, latencies = loops.simulate(device(values), setting, ())
    return {operation: found.mean_ns for operation, found in latencies.items()}


@pytest.mark.long
def test_what_was_left_out_is_predicted(of_reads: Fit) -> None:
    found, known = ([means_ns(values, setting)["read"] for setting in LEFT_OUT] for values in (of_reads.values, KNOWN))
    assert found == pytest.approx(known, rel=0.05), LEFT_OUT


@pytest.mark.long
def test_what_can_be_told_is_found_again(of_reads: Fit) -> None:
    assert of_reads.misfit < 0.03
    for name, share in (("unloaded_read_ns", 0.05), ("sense_ns", 0.1)):
        assert of_reads.values[name] == pytest.approx(KNOWN[name], rel=share), name
        low, high = interval(of_reads, name)
        assert low <= KNOWN[name] <= high
    assert KNOWN["dies"] / 2 <= of_reads.values["dies"] <= 2 * KNOWN["dies"]


@pytest.mark.long
def test_what_was_not_measured_is_said_to_be_open(of_reads: Fit) -> None:
    not_measured = {"program_ns", "program_units", "write_ns", "flush_ns", "flush_interval_ns", "buffer_units"}
    assert not_measured <= set(of_reads.unknown)
    assert {"unloaded_read_ns", "sense_ns"}.isdisjoint(of_reads.unknown)
    for name in not_measured:
        assert of_reads.values[name] == PARAMETERS[name].start
    said = "\n".join(what_is_open(of_reads))
    assert all(name in said for name in of_reads.unknown)
    assert "70:30" in said
    assert "fdatasync=1" in said


@pytest.mark.long
def test_reads_behind_writes_are_predicted(of_writes: Fit) -> None:
    with commands(LONG):
        for setting in (mix(4), mix(16), mix(64)):
            known, found = means_ns(KNOWN, setting), means_ns(of_writes.values, setting)
            assert found["read"] == pytest.approx(known["read"], rel=0.1), setting
    assert of_writes.values["write_ns"] == pytest.approx(KNOWN["write_ns"], rel=0.1)
    assert {"program_ns", "write_ns"}.isdisjoint(of_writes.unknown)
    assert {"flush_ns", "page_units"} <= set(of_writes.unknown)


def test_flushes_of_other_numbers_of_jobs_are_predicted(tmp_path: Path) -> None:
    (tmp_path / "sync.json").write_text(flushes(KNOWN, [flushed(1), flushed(16)]))
    fit = fit_loops(targets(measurements(tmp_path / "sync.json"))[0])
    for jobs in (1, 4, 8, 16):
        rates = [loops.simulate(device(values), flushed(jobs), ())[0] for values in (KNOWN, fit.values)]
        assert rates[1] == pytest.approx(rates[0], rel=0.05), jobs
    assert {"sense_ns", "program_ns"} <= set(fit.unknown)


@pytest.mark.long
def test_flushes_leave_what_writes_have_told(tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text(points(KNOWN, [mix(1, 0.0), mix(4, 0.0)]))
    (tmp_path / "sync.json").write_text(flushes(KNOWN, [flushed(1), flushed(16)]))
    found = [point for name in ("points.csv", "sync.json") for point in measurements(tmp_path / name)]
    assert fit_loops(targets(found)[0]).values["write_ns"] == pytest.approx(KNOWN["write_ns"], rel=0.1)


@pytest.mark.long
def test_the_same_measurement_gives_the_same_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "points.csv").write_text(points(KNOWN, [random_reads(4096, 1)]))
    first = fit_loops(targets(measurements(tmp_path / "points.csv"))[0])
    monkeypatch.setattr(loops, "_RUNS", Newest(0))  # nothing is remembered
    assert fit_loops(targets(measurements(tmp_path / "points.csv"))[0]) == first


# The device file of a fit.


def a_fit(told: Sequence[str]) -> Fit:
    """A fit whose numbers lie within a tenth, as far as they were told."""
    values = start()
    found = {name: FitRange(0.9 * values[name], 1.1 * values[name], True) for name in told}
    return Fit(values, found, (Residual("random reads", "read", "mean", 100_000, 110_000, 1.0),))


@pytest.mark.parametrize("told", [(), tuple(PARAMETERS), ("sense_ns", "transfer_ns")])
def test_every_number_of_the_file_has_a_source_and_the_file_is_a_device(told: Sequence[str], tmp_path: Path) -> None:
    values = device_file(a_fit(told), "mine", 800 * 10**9, "document: the label", "3 settings of points.csv")
    (tmp_path / "mine.toml").write_text(tomli_w.dumps(values))
    drive = read_device(tmp_path / "mine.toml")
    assert isinstance(drive, Flash)
    assert drive.model_copy(update={"name": "fitted", "sources": {}, "notes": "", "not_identified": ()}) == device(
        start()
    ).model_copy(update={"sources": {}, "capacity": 800 * 10**9})
    assert drive.sources.keys() == device_values(start()).keys() - {"kind"} | {"capacity"}
    assert drive.notes.startswith("Fitted to 3 settings of points.csv; errors: median 10.0 %, ")
    unknown = dict.fromkeys(one.key for name, one in PARAMETERS.items() if name not in told)
    assert drive.not_identified == tuple(unknown)
    guessed = [key for key in unknown if drive.sources[key].startswith("assumed")]
    scenario = tmp_path / "s.toml"
    scenario.write_text('[volumes.data]\ndevice = "mine.toml"\n')
    said = [one for one in of_hardware(load_scenario(str(scenario))) if "fit" in one]
    assert len(said) == bool(guessed)
    assert all(f"mine: its fit could not tell {', '.join(guessed)} from the measurement; they" in one for one in said)


def test_errors_of_a_fit_are_those_of_its_table() -> None:
    figures = [
        Residual("", "write", "mean", 100, fitted, weight) for fitted, weight in ((190, 0.01), (101, 1), (97, 1))
    ]
    assert said_of_errors(figures) == "median 3.0 %, largest 90.0 %"


def test_sources_say_what_was_told_and_what_is_assumed() -> None:
    fitted = device_file(a_fit(tuple(PARAMETERS)), "mine", 1 << 40, "document: the label", "3 settings")["sources"]
    assert fitted["program"] == "fitted: 3 settings; between 900 µs and 1.1 ms"
    assert fitted["channel_rate"].startswith("fitted: 3 settings; between 443.9 MiB/s and ")
    assert fitted["program_size"] == "fitted: 3 settings; between 88 KiB and 104 KiB"
    assert "the middle one between 54 µs and 66 µs" in fitted["read"]
    assert fitted["read_latency"].startswith("derived: 90 µs (fitted, between 81 µs and 99 µs)")
    assert fitted["power_loss_protection"].startswith("derived: ")
    nothing = device_file(a_fit(()), "mine", 1 << 40, "document: the label", "3 settings")["sources"]
    assert nothing["program"] == "assumed: 20 µs .. 5 ms"
    assert nothing["power_loss_protection"] == "assumed: false .. true"
    assert not any(source.startswith("fitted") for source in nothing.values())


def test_what_is_told_on_one_side_only_is_assumed() -> None:
    fit = Fit(start(), {"dies": FitRange(8, 64, False)}, ())
    assert interval(fit, "dies") == (PARAMETERS["dies"].low, PARAMETERS["dies"].high)
    assert between(fit, "transfer_ns") == ("97.66 MiB/s", "4.096 GB/s")


def test_every_parameter_has_a_measurement_that_would_tell_it() -> None:
    assert WOULD_TELL.keys() == PARAMETERS.keys()


# A real drive, a Samsung PM981a. What a fit to some of its figures says of the others is an experiment of `tiersim
# validate`, whose row of the accuracy document is tested to the letter.


@pytest.mark.shared
def test_a_real_drives_figures_are_those_that_the_experiment_fits(shared: Path) -> None:
    found, left_out = targets(measurements(shared / "ssd" / "pm981a_fio.csv"))
    assert len(left_out) == 1  # one run that contradicts Little's law
    recorded = {one.setting: one for one in found}
    depths = [flash_drive.fit_target(depth, 4096, 1.0, row) for depth, row in flash_drive.DEPTHS.items()]
    sizes = [flash_drive.fit_target(32, kib << 10, 1.0, row) for kib, row in flash_drive.SIZES.items()]
    mixes = [flash_drive.fit_target(32, 4096, share, *rows) for share, rows in flash_drive.MIXES.items()]
    alone = [
        flash_drive.fit_target(1, kib << 10, share, row, pattern=pattern)
        for pattern, kib, share, row in flash_drive.ALONE  # one outstanding
    ]
    for one in (*depths, *sizes, *mixes, *alone):
        same = recorded[one.setting]
        pooled = same.runs > 3  # with equal runs of other series
        assert same.requests_per_s == pytest.approx(one.requests_per_s, rel=0.06 if pooled else 1e-4), one.setting
        for operation, latencies in one.latencies.items():
            # how the time of a submission divides between reads and writes is not recorded
            assert same.latencies[operation].mean_ns == pytest.approx(latencies.mean_ns, rel=0.05), one.setting


def test_what_paused_between_requests_is_left_out(tmp_path: Path) -> None:
    """One request in 1 ms that takes 80 µs: by Little's law alone it would take 1 ms."""
    own, paused = job(name="own"), job({"thinktime": "1000"}, name="paused", group=1)
    path = tmp_path / "fio.json"
    path.write_text(document(own, paused))
    found, left_out = targets(measurements(path))
    assert [one.runs for one in found] == [1]
    assert left_out == [f"{path}, paused: it paused between requests"]
    path.write_text(document(paused))
    with pytest.raises(ScenarioError, match="no pauses"):
        targets(measurements(path))


def test_jobs_that_ran_at_the_same_time_are_left_out(tmp_path: Path) -> None:
    """Neither says what the drive does alone; fio parts jobs by stonewall, and later ones say when they began."""
    path, began_ms = tmp_path / "fit.json", 1_800_000_000_000
    alone, reads, writes = (
        job(name=name, group=group, job_start=began_ms + 1000 * second)
        for group, (name, second) in enumerate((("alone", 0), ("reads", 1), ("writes", 1)))
    )
    path.write_text(document(alone, reads, writes))
    found, left_out = targets(measurements(path))
    assert [one.runs for one in found] == [1]
    assert left_out == [
        f"{path}, reads: 'writes' ran at the same time",
        f"{path}, writes: 'reads' ran at the same time",
    ]
    path.write_text(document(job(name="reads"), job(name="writes")))
    with pytest.raises(ScenarioError, match="no other job at the same time"):
        targets(measurements(path))
