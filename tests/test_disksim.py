"""Drives from DiskSim's parameter files."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.examples import examples
from tests.runs import commands, run
from tests.twins.hdd_buffer import NaiveDrive
from tiersim.cli.main import app
from tiersim.devices.catalogue import load_device
from tiersim.devices.hdd.disk_drive import add_drive
from tiersim.devices.hdd.disksim import KEPT, load_drive
from tiersim.devices.hdd.disksim.layout import zones_of
from tiersim.devices.hdd.disksim.parameters import ParameterBlock
from tiersim.devices.hdd.hdd_measured import MeasuredDrive
from tiersim.devices.plant import PlantBuilder
from tiersim.errors import ScenarioError, TiersimError
from tiersim.operations import READ
from tiersim.scenarios.calibration.demerit import score
from tiersim.scenarios.replay import Playback
from tiersim.scenarios.survey import survey
from tiersim.scenarios.validation.demerits import DISKSIM_MS, ROUNDED_MS
from tiersim.scenarios.validation.departures import DEPARTURES, FAMILIES, Demerits
from tiersim.scenarios.validation.think_times import agreement, import_with_waits_in_place
from tiersim.traces.bundle import Bundle

SURFACES = 3

SPECS = """disksim_disk MADE_UP {
   Model = source made_up.model,
   Bulk sector transfer time = 0.1,
   Max queue length = 8,
   Scheduler = disksim_ioqueue { Scheduling policy = 1, Timeout scheduling = 0 },
   Number of buffer segments = 3,
   Maximum number of write segments = 1,
   Segment size (in blks) = 64,
   Enable caching in buffer = 1,
   Buffer continuous read = 3,
   Maximum read-ahead (blks) = 64,
   Read-ahead on idle hit = 0,
   Fast write level = 1,
   Read hit over. after read = 0.1,
   Read hit over. after write = 0.3,
   Read miss over. after read = 1.5,
   Read miss over. after write = 0.5,
   Write hit over. after read = 0.4,
   Write hit over. after write = 0.35,
   Write miss over. after read = 0.6,
   Write miss over. after write = 0.2,
   Read completion overhead = 0.05,
} # end
"""
MODEL = """# a drive of two zones
dm_disk MADE_UP_model {
   Number of data surfaces = 3,
   Number of cylinders = 40,
   Block count = 5000,
   Layout Model = dm_layout_g1 {
      LBN-to-PBN mapping scheme = 0,
      Sparing scheme used = 1,
      Rangesize for sparing = 1,
      Zones = [
         dm_layout_g1_zone { First cylinder number = 0, Last cylinder number = 19, Blocks per track = 50,
            Offset of first block = 0.0, Empty space at zone front = 100, Skew for track switch = 5.0,
            Skew for cylinder switch = 8.0, Number of spares = 2, slips = [ 4 ], defects = [] },
         dm_layout_g1_zone { First cylinder number = 20, Last cylinder number = 39, Blocks per track = 40,
            Offset of first block = 3, Empty space at zone front = 0, Skew for track switch = 4,
            Skew for cylinder switch = 6, Number of spares = 1, slips = [], defects = [] }
      ]
   },
   Mechanical Model = dm_mech_g1 {
      Access time type = trackSwitchPlusRotation,
      Seek type = extracted,
      Full seek curve = made_up.seek,
      Add. write settling delay = -0.5,
      Head switch time = 0.2,
      Rotation speed (in rpms) = 6000
   }
} # end of MADE_UP_model
"""
SEEK = "Seek distances measured: 3\n1,\t1.0\n10,\t3.0\n39,\t6.0\n"
SYSTEM = """disksim_global Global { Init Seed = 42, Stat definition file = statdefs }
disksim_bus BUS0 { type = 1, Read block transfer time = 0.0 } # end
source made_up.diskspecs
instantiate [ disk0, disk1 ] as MADE_UP
topology disksim_iodriver driver0 [ disksim_bus bus0 [ disksim_disk disk0 [] ] ]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("parv", SYSTEM), ("diskspecs", SPECS), ("model", MODEL), ("seek", SEEK)):
        (tmp_path / f"made_up.{name}").write_text(text)
    return tmp_path


@pytest.mark.parametrize("suffix", ["parv", "diskspecs"])
def test_a_drive_is_read_from_either_file(folder: Path, suffix: str) -> None:
    drive = load_drive(folder / f"made_up.{suffix}")
    assert drive.name == "MADE_UP"
    assert (drive.rpm, drive.surfaces, drive.cylinders) == (6000, 3, 40)
    assert drive.capacity == (20 * 3 * 50 - 100 - 2 * 50 + 20 * 3 * 40 - 40) * 512
    assert (drive.buffer_segments, drive.buffer_segment) == (3, 64 * 512)
    assert drive.interface_rate == pytest.approx(5_120_000)
    assert (drive.read_ahead, drive.write_segments) == ("segment", 1)
    assert all(source for source in drive.sources.values())


def test_parameters_are_taken_at_their_word(folder: Path) -> None:
    drive = load_drive(folder / "made_up.parv", frozenset())
    assert drive.track_switch == 200_000
    assert drive.write_settle == -500_000
    assert drive.miss_overheads == (1_500_000, 500_000, 600_000, 200_000)
    assert drive.hit_overheads == (100_000, 300_000, 400_000, 350_000)
    assert (drive.read_ahead_after_hit, drive.write_into) == (False, "longest unused")
    assert (drive.read_hits_wait, drive.writes_wait) == (True, True)


def test_what_drives_were_measured_to_do_otherwise(folder: Path) -> None:
    drive = load_drive(folder / "made_up.parv")
    assert drive.track_switch == 1_000_000  # as the shortest seek; the skew, a tenth of a turn of 10 ms, hides as much
    assert drive.read_ahead_after_hit is True
    every = load_drive(folder / "made_up.parv", frozenset(DEPARTURES))
    assert every.miss_overheads == (500_000, 500_000, 600_000, 600_000)
    assert every.hit_overheads == (300_000, 300_000, 400_000, 350_000)


BUS = """   Hold bus entire read xfer = 1,
   Use separate write segment = 1,
   High (read) water mark = 0.75,
   Set watermark by reqsize = 0,
   Per-request overhead time = 0.01,
   Time scale for overheads = 2,
   Data preparation overhead = 0.02,
   First reselect overhead = 0.03,
   Other reselect overhead = 0.04,
   Read disconnect afterread = 0.05,
   Read disconnect afterwrite = 0.06,
   Write disconnect overhead = 0.07,
   Write completion overhead = 0.08,
   Extra write disconnect = 1,
   Extradisc command overhead = 0.1,
   Extradisc disconnect overhead = 0.2,
   Extradisc inter-disconnect delay = 0.3,
   Extradisc 2nd disconnect overhead = 0.4,
   Extradisc seek delta = 0.5,
   Minimum seek delay = 0.6,
   Allow sneaky full read hits = 1,
   Immediate buffer read = 1,
   Preseeking level = 2,
} # end
"""


def test_what_passes_between_drive_and_host_is_read(folder: Path) -> None:
    (folder / "made_up.diskspecs").write_text(SPECS.replace("} # end\n", BUS))
    text = SYSTEM.replace(
        "Read block transfer time = 0.0", "Read block transfer time = 0.2, Write block transfer time = 0.25"
    )
    (folder / "made_up.parv").write_text(text)
    drive = load_drive(folder / "made_up.parv")
    assert (drive.interface_rate, drive.write_interface_rate) == (2_560_000, 2_048_000)
    assert drive.hit_overheads == (210_000, 610_000, 810_000, 710_000)
    assert (drive.data_overhead, drive.reconnect_overheads) == (40_000, (60_000, 80_000))
    assert drive.disconnect_overheads == (100_000, 120_000, 140_000)
    assert (drive.completion_overhead, drive.write_completion_overhead) == (100_000, 160_000)
    assert drive.extra_write_disconnect == (200_000, 1_000_000, 400_000, 600_000, 800_000)
    assert drive.write_move_least == 600_000
    assert (drive.water_mark, drive.water_mark_of_segment) == (0.75, True)
    assert (drive.write_segment_apart, drive.buffer_segments) == (True, 2)
    assert drive.read_hits_wait is False
    assert drive.notes == "DiskSim's parameters that are not simulated: Preseeking level = 2, Immediate buffer read = 1"
    assert drive.caveats == [f"MADE_UP: {drive.notes}"]


def test_the_seek_curve_is_straight_between_measured_points(folder: Path) -> None:
    curve = load_drive(folder / "made_up.parv").geometry().seek_ns
    assert curve[[0, 1, 10, 39]].tolist() == [0, 1_000_000, 3_000_000, 6_000_000]
    assert curve[4] == pytest.approx(1_000_000 + 3 / 9 * 2_000_000, abs=1)


def test_a_drive_without_caching_still_has_its_interface(folder: Path) -> None:
    (folder / "made_up.diskspecs").write_text(
        SPECS.replace("Enable caching in buffer = 1", "Enable caching in buffer = 0")
    )
    drive = load_drive(folder / "made_up.parv")
    assert drive.interface_rate == pytest.approx(5_120_000)
    assert (drive.read_ahead, drive.write_segments) == ("none", None)


def test_skews_in_turns(folder: Path) -> None:
    model = (
        (folder / "made_up.model")
        .read_text()
        .replace("Sparing scheme used", "Skew units = revolutions,\n Sparing scheme used")
    )
    model = model.replace("Skew for track switch = 5.0", "Skew for track switch = 0.1")
    (folder / "made_up.model").write_text(model.replace("Skew for track switch = 4,", "Skew for track switch = 0.1,"))
    assert load_drive(folder / "made_up.parv").track_switch == 1_000_000


@pytest.mark.parametrize(
    ("file", "later", "notes"),
    [
        ("1, 1.0, 0.02\n10, 3.0, 0.03\n39, 6.0, 0.01\n", 0, ""),
        ("1, 1.0, 0.02, 1.5\n10, 3.0, 0.03, 3.5\n39, 6.0, 0.01, 6.5\n", 500_000, ""),
        ("1 1.0 0.02 1.5\n10 3.0 0.03 3.5\n39 6.0 0.01\n", 0, ""),
        ("1, 1.0, 0.02, 1.4\n10, 3.0, 0.03, 3.5\n39, 6.0, 0.01, 6.6\n", 500_000, "seeks of writes (up to 0.100 ms"),
    ],
)
def test_a_seek_file_may_have_deviations_and_the_times_of_writes(
    folder: Path, file: str, later: int, notes: str
) -> None:
    plain = load_drive(folder / "made_up.parv", frozenset())
    (folder / "made_up.seek").write_text(file)
    drive = load_drive(folder / "made_up.parv", frozenset())
    assert drive.seek_curve == plain.seek_curve
    assert drive.write_settle == plain.write_settle + later
    assert notes in drive.notes
    assert bool(notes) == bool(drive.notes)


def test_seek_equations(folder: Path) -> None:
    model = folder / "made_up.model"
    equation = "Seek type = hplplus10,\n First ten seek times = [1,2,3,4,5,6,7,8,9,10],\n"
    equation += "HPL seek equation values = [20, 2.0, 0.5, 8.0, 0.1, -1.0]"
    model.write_text(MODEL.replace("Seek type = extracted", equation))
    curve = load_drive(folder / "made_up.parv").geometry().seek_ns / 1e6
    assert curve[[1, 7]].tolist() == [1, 7]
    assert curve[16] == pytest.approx(2 + 0.5 * 4, rel=0.01)
    assert curve[39] == pytest.approx(8 + 3.9, rel=0.01)
    three = "Seek type = curve, Single cylinder seek time = 1.0, Average seek time = 3.0, Full strobe seek time = 6.0"
    model.write_text(MODEL.replace("Seek type = extracted", three))
    curve = load_drive(folder / "made_up.parv").geometry().seek_ns / 1e6
    assert curve[1] == 1
    assert curve[39] == pytest.approx(6, rel=0.05)  # Lee's ends are exact for many cylinders
    model.write_text(MODEL.replace("Seek type = extracted", three.replace("curve", "linear")))
    curve = load_drive(folder / "made_up.parv").geometry().seek_ns / 1e6
    assert curve[[1, 7, 13, 26, 39]].tolist() == [1, 2, 3, 4.5, 6]
    model.write_text(MODEL.replace("Seek type = extracted", "Seek type = constant, Constant seek time = 2.5"))
    assert set(load_drive(folder / "made_up.parv").geometry().seek_ns[1:]) == {2_500_000}
    model.write_text(MODEL.replace("Seek type = extracted,", ""))  # a curve that is named is what is meant
    assert load_drive(folder / "made_up.parv").geometry().seek_ns[10] == 3_000_000


def test_a_way_of_access_that_is_not_simulated_is_named(folder: Path) -> None:
    model = folder / "made_up.model"
    assert not load_drive(folder / "made_up.parv").notes
    model.write_text(MODEL.replace("trackSwitchPlusRotation", "averageRotation"))
    assert load_drive(folder / "made_up.parv").notes.endswith("Access time type = averageRotation")


@pytest.mark.parametrize(
    ("name", "old", "new", "named"),
    [
        ("made_up.diskspecs", "} # end\n", "Spin down after = 9,\n} # end\n", "Spin down after (not known)"),
        ("made_up.diskspecs", "Scheduling policy = 1", "Scheduling policy = 2", "Scheduling policy = 2"),
        ("made_up.diskspecs", "Timeout scheduling = 0", "Sequential stream scheme = 1", "Sequential stream scheme = 1"),
        ("made_up.model", "Head switch", "Percent error in rpms = 0.5, Head switch", "Percent error in rpms = 0.5"),
        ("made_up.model", "scheme = 0", "scheme = 3", "LBN-to-PBN mapping scheme = 3"),
        ("made_up.model", "Number of spares = 1", "Number of spares = 1, Media = 2", "Media (not known)"),
    ],
)
def test_every_parameter_is_used_or_named(folder: Path, name: str, old: str, new: str, named: str) -> None:
    path = folder / name
    path.write_text(path.read_text().replace(old, new))
    assert load_drive(folder / "made_up.parv").notes == f"DiskSim's parameters that are not simulated: {named}"


@pytest.mark.parametrize(("policy", "scheduler"), [(1, "fcfs"), (4, "sstf"), (5, "sstf"), (7, "sstf"), (8, "sptf")])
def test_disksims_schedulers(folder: Path, policy: int, scheduler: str) -> None:
    path = folder / "made_up.diskspecs"
    path.write_text(path.read_text().replace("policy = 1", f"policy = {policy}"))
    assert load_drive(folder / "made_up.parv").scheduler == scheduler


@pytest.mark.shared
def test_drives_of_the_validation_suite_have_no_parameter_that_is_not_known(shared: Path) -> None:
    files = [*(shared / "hdd").rglob("*.parv"), *(shared / "hdd").rglob("*.diskspecs")]
    assert len(files) >= 14
    for file in files:
        assert "not known" not in load_drive(file).notes


@pytest.mark.kernels
def test_a_whole_read_of_the_drive_takes_every_track_once(folder: Path) -> None:
    """Sequential reading costs a turn a track and the skews; bad tracks and spares are passed over."""
    drive = load_drive(folder / "made_up.parv").model_copy(update={"buffer_segments": None, "buffer_segment": None})
    builder = PlantBuilder(1)
    found = run(builder, commands([0], add_drive(builder, drive, "drive"), READ, 0, drive.capacity))
    zones = [(20 * 3 - 4, 50, 5, 8), (20 * 3 - 1, 40, 4, 6)]
    expected = sum(tracks * 10.0 for tracks, _, _, _ in zones)
    expected += sum((tracks * 2 / 3 * skew + tracks / 3 * cylinder) / per * 10 for tracks, per, skew, cylinder in zones)
    assert found.latency_ns[0] / 1e6 == pytest.approx(expected, abs=25)  # the way there, and the zones' end


def _layout(scheme: int, slips: list[int], spares: int, unused: int, range_cylinders: int) -> ParameterBlock:
    here = Path("drive.model")
    zone = ParameterBlock(
        "dm_layout_g1_zone", "", {
            "First cylinder number": 0, "Last cylinder number": 11, "Blocks per track": 10, "Offset of first block": 0,
            "Empty space at zone front": unused, "Skew for track switch": 1, "Skew for cylinder switch": 1,
            "Number of spares": spares, "slips": slips, "defects": [],
        }, here, 1,
    )  # fmt: skip
    values = {"Sparing scheme used": scheme, "Rangesize for sparing": range_cylinders, "Zones": [zone]}
    return ParameterBlock("dm_layout_g1", "", values, here, 1)


def naive_sectors(scheme: int, slips: list[int], spares: int, unused: int, range_cylinders: int) -> list[int]:
    """Physical sector of each logical one, sector by sector, from what the schemes are."""
    total, per_track, per_cylinder = 12 * SURFACES * 10, 10, SURFACES * 10
    if scheme == 1:
        good = [s for s in range(total) if s // per_track not in slips]
        return good[unused : unused + total - unused - spares * per_track]
    if scheme in (0, 7, 9, 10):
        good = [s for s in range(total) if scheme == 0 or s not in slips]
        lost = (spares if scheme in (9, 10) else 0) + (len(slips) if scheme in (7, 10) else 0)
        return good[unused : total - lost]
    size = {3: per_track, 8: per_cylinder * range_cylinders}.get(scheme, per_cylinder)
    found: list[int] = []
    for begin in range(0, total, size):
        group = [s for s in range(begin, begin + size) if s not in slips]
        if scheme in (5, 6):
            group = [s for s in group if s >= begin + spares]
        own = sum(begin <= slip < begin + size for slip in slips) if scheme in (4, 6) else 0
        found += group[: size - spares - own]
    held = total - unused - spares * (total // size) - (len(slips) if scheme in (4, 6) else 0)
    return found[unused : unused + held]


@given(
    scheme=st.integers(0, 10),
    slips=st.lists(st.integers(0, 11 * SURFACES * 10), unique=True, max_size=2),
    spares=st.integers(2, 4),
    unused=st.integers(0, 25),
    range_cylinders=st.sampled_from([1, 2, 3, 4]),
)
@settings(max_examples=examples(300), deadline=None)
def test_layouts_against_a_naive_twin(
    scheme: int, slips: list[int], spares: int, unused: int, range_cylinders: int
) -> None:
    if scheme == 1:
        slips = sorted({slip // 10 for slip in slips})
    [zone] = zones_of(_layout(scheme, slips, spares, unused, range_cylinders), SURFACES)
    expanded = [first + index for first, count in zone.runs for index in range(count)]
    assert expanded == naive_sectors(scheme, slips, spares, unused, range_cylinders)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("made_up.model", "Seek type = extracted", "Seek type = lunar", "seek type is 'lunar'"),
        ("made_up.model", "Seek type = extracted", "Seek type = linear", "'Full strobe seek time' is not there"),
        ("made_up.model", "Seek type = extracted", "Seek type = constant", "'Constant seek time' is not there"),
        ("made_up.model", "Seek type = extracted", "Seek type = hpl", "not a list of 6 numbers"),
        ("made_up.model", "Seek type = extracted", "Seek type = curve", "'Single cylinder seek time' is not there"),
        ("made_up.model", "dm_layout_g1 {", "dm_layout_g4 {", "layout 'dm_layout_g4' is not read"),
        ("made_up.model", "Rotation speed (in rpms) = 6000", "Rotation speed (in rpms) = fast", "'fast', not a number"),
        ("made_up.model", "Rotation speed (in rpms) = 6000", "Rotation speed (in rpms) = 0", "a drive turns"),
        ("made_up.model", "Blocks per track = 50", "Blocks per track = 0", "holds no sector"),
        ("made_up.seek", "10,\t3.0", "ten,\t3.0", "made_up.seek:3: .* is not DISTANCE, MILLISECONDS"),
        ("made_up.seek", "10,\t3.0", "1,\t3.0", "distances must rise"),
        (
            "made_up.diskspecs",
            "made_up.model",
            "other.model",
            "made_up.diskspecs:2: .other.model. is no file beside it",
        ),
        ("made_up.diskspecs", "Max queue length = 8", "Max queue length 8", "is not followed by '='"),
        ("made_up.parv", "source made_up.diskspecs", "source made_up.parv", "files that name each other"),
        ("made_up.parv", "source made_up.diskspecs", "", "describes no disk"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(folder: Path, name: str, old: str, new: str, message: str) -> None:
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))
    with pytest.raises(ScenarioError, match=message):
        load_drive(folder / "made_up.parv")


@given(cut=st.integers(0, len(SPECS) + len(MODEL)), noise=st.binary(max_size=6))
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files_never_end_in_a_traceback(folder: Path, cut: int, noise: bytes) -> None:
    whole = {"made_up.diskspecs": SPECS.encode(), "made_up.model": MODEL.encode()}
    name = "made_up.diskspecs" if cut < len(SPECS) else "made_up.model"
    at = cut if cut < len(SPECS) else cut - len(SPECS)
    for rest in (b"", whole[name][at:]):
        (folder / name).write_bytes(whole[name][:at] + noise + rest)
        with suppress(TiersimError):
            load_drive(folder / "made_up.diskspecs")
    for name, text in whole.items():
        (folder / name).write_bytes(text)


def test_import_writes_a_device_file_that_is_the_same_drive(folder: Path) -> None:
    target = folder / "drive.toml"
    done = CliRunner().invoke(app, ["devices", "import", str(folder / "made_up.parv"), "-o", str(target)])
    assert done.exit_code == 0, done.output
    assert load_device(str(target)) == load_drive(folder / "made_up.parv")
    shown = CliRunner().invoke(app, ["devices", "show", str(target)])
    assert shown.exit_code == 0
    assert "MADE_UP" in shown.output
    again = CliRunner().invoke(app, ["devices", "import", str(folder / "made_up.parv"), "-o", str(target)])
    assert "is already there" in str(again.exception)


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize("drive", DISKSIM_MS)
def test_at_its_word_a_drive_answers_as_disksim_does(shared: Path, drive: str) -> None:
    """Request by request, from the angle at which DiskSim begins; the twin answers as the kernels do
    (``test_hdd_twin.py``).
    """
    valid = shared / "hdd/valid"
    twin = NaiveDrive(load_drive(valid / f"{drive}.parv", frozenset()), 0)
    rows = [line.split() for line in (valid / f"{drive}.disksim.txt").read_text().splitlines()]
    disksim_ns = [float(row[1]) * 1e6 for row in rows if row[0][0].isdigit()]
    now, same = 0, 0
    for line, expected in zip((valid / f"{drive}.trace").read_text().splitlines(), disksim_ns, strict=False):
        op, _, first, sectors, _, think_us = line.split()
        done = twin.done_ns(now, op == "W", int(first), int(sectors))
        same += abs(done - now - expected) < 5_000
        now = done + round(float(think_us) * 1000)
    assert same >= 0.9995 * len(disksim_ns)


#: Reads or writes apart that are worse than DiskSim's, though all requests are not: claims that fail
#: (docs/accuracy.md).
_APART = {
    ("cheetah4LP", "write"): 1.085,
    ("cheetah9LP", "read"): 1.02,
    ("atlas_III", "write"): 1.012,
    ("hp_c2247a", "write"): 1.013,
    ("hp_c2490a", "read"): 1.015,
    ("hp_c3323a", "read"): 1.036,
}


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize("drive", DISKSIM_MS)
def test_demerits_are_not_above_disksims_own(shared: Path, tmp_path: Path, drive: str) -> None:
    """Nothing is fitted: the parameters are the published ones; means over ten angles of the platter."""
    valid = shared / "hdd/valid"
    import_with_waits_in_place(valid / f"{drive}.trace", valid / f"{drive}.parv", tmp_path / "t.trace")
    device = load_device(str(valid / f"{drive}.parv"))
    assert isinstance(device, MeasuredDrive)
    found: dict[str, Any] = score(survey(Bundle(tmp_path / "t.trace")), drive, device)
    for group, disksim in zip(("all", "read", "write"), DISKSIM_MS[drive], strict=True):
        allowed = disksim * _APART.get((drive, group), 1) + ROUNDED_MS
        assert (found if group == "all" else found[group])["demerit_ms"] <= allowed
    assert abs(found["p99_error_pct"]) <= 4
    if drive == "cheetah4LP" and abs(found["mean_error_pct"]) > 2:
        pytest.xfail("4.4 % short: so are the extracted seeks and overheads (docs/accuracy.md)")
    assert abs(found["mean_error_pct"]) <= 2


@pytest.mark.shared
@pytest.mark.parametrize(
    "families", [["Cheetah", "Atlas", "Barracuda"], pytest.param([*FAMILIES], marks=pytest.mark.long)]
)
def test_what_is_kept_is_what_is_chosen(shared: Path, tmp_path: Path, families: list[str]) -> None:
    assert Demerits(shared / "hdd/valid", tmp_path).chosen(families) == KEPT


@pytest.mark.shared
@pytest.mark.parametrize(
    ("drive", "before", "agree"),
    [
        ("cheetah4LP", True, 0.95),
        ("cheetah9LP", True, 0.63),
        ("atlas_III", True, 0.93),
        ("barracuda", True, 0.91),
        ("hp_c2247a", False, 0.52),
        ("hp_c2490a", False, 0.94),
        ("hp_c3323a", False, 0.33),
    ],
)
def test_the_platter_tells_which_request_a_wait_precedes(
    shared: Path, tmp_path: Path, drive: str, before: bool, agree: float
) -> None:
    trace, parameters = (shared / f"hdd/valid/{drive}.{suffix}" for suffix in ("trace", "parv"))
    found = agreement(trace, parameters)
    assert (found.before if before else found.after) > agree
    assert min(found) < 0.08
    import_with_waits_in_place(trace, parameters, tmp_path / "t.trace")
    playback = Playback(survey(Bundle(tmp_path / "t.trace"))).recorded
    gaps_us = np.diff(playback.time_ns[:5]) / 1000 - playback.latency_ns[:4] / 1000
    waits_us = [float(line.split()[5]) for line in trace.read_text().splitlines()[:5]]
    assert gaps_us == pytest.approx(waits_us[1:] if before else waits_us[:4], abs=0.002)


@given(seed=st.integers(0, 2**32), speed=st.floats(0.995, 1.005))
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_waits_of_a_made_up_drive_are_found_where_they_are(folder: Path, seed: int, speed: float) -> None:
    """Reads of one track, each of which begins when its sector passes; the spindle is a little off."""
    random = np.random.default_rng(seed)
    turn_us, overhead_us = 10_000 * speed, 1500
    now_us = 0.0
    lines: list[str] = []
    waits: list[float] = []
    for place in random.integers(0, 40, 200):
        wait_us = float(random.integers(0, 50_000))
        asked_us = now_us + wait_us
        begun_us = asked_us + overhead_us
        begun_us += (place / 50 * turn_us - begun_us) % turn_us
        now_us = begun_us + 200
        lines.append(f"R Hit {place} 2 {now_us - asked_us:.3f}")
        waits.append(wait_us)
    for shift in (0, 1):
        text = "".join(
            f"{told} {wait:.3f}\n" for told, wait in zip(lines, [*waits, 0.0][shift:][: len(lines)], strict=True)
        )
        (folder / "made_up.trace").write_text(text)
        found = agreement(folder / "made_up.trace", folder / "made_up.parv")
        assert (found.before > 0.9, found.after > 0.9) == (shift == 0, shift == 1)
