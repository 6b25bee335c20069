"""RAID controllers: a battery-backed write cache, ceilings and links that volumes share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.plants import hdd
from tests.runs import Run, commands, run
from tiersim.devices.array.volume import Layout, Volume, add_array, unit_bytes
from tiersim.devices.controller.lines_kernels import LINE_BYTES, LINE_SECTORS, SECTOR_BYTES
from tiersim.devices.controller.links import LINKS, link_bytes_per_s
from tiersim.devices.controller.raid_controller import (
    DEFECT_BYTES_PER_S,
    LONGEST_DESTAGE_BYTES,
    Controller,
    add_controller,
    add_front,
)
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import NEVER, NONE, RESOURCES, WAIT, Plant
from tiersim.errors import ScenarioError
from tiersim.operations import DISCARD, FLUSH, READ, WRITE
from tiersim.scenarios.caveats import empty_caches, of_hardware, parameters_assumed, short_seeks
from tiersim.scenarios.library import load_scenario
from tiersim.simulator.metrics import new_metrics
from tiersim.simulator.reference.engine import Device, Part, ReferenceEngine
from tiersim.simulator.verdict import to_blame, utilisation

pytestmark = pytest.mark.kernels

MS = 1_000_000
S = 1_000_000_000
UNIT = 65536
#: What a request costs that only passes a route and the cache.
AT_ONCE_NS = 2


@dataclass
class Built:
    builder: PlantBuilder
    entries: list[int]
    members: list[list[int]]

    def run(self, *fed: Any, volume: Any = 0) -> Run:
        made = commands(fed[0], 0, *fed[1:])
        return run(
            self.builder,
            replace(made, station=np.broadcast_to(np.array(self.entries, np.int32)[volume], len(made)).copy()),
        )


def build(
    controller: Controller,
    layouts: Sequence[tuple[Layout, int]] = (("single", 1),),
    service_ns: int = MS,
    bytes_per_s: int | None = None,
) -> Built:
    """Volumes on members of fixed service time behind a controller."""
    builder = PlantBuilder(1)
    volumes, below, members = [], [], []
    for index, (layout, count) in enumerate(layouts):
        own = [add_server(builder, f"v{index}.{n}", 1, service_ns, bytes_per_s=bytes_per_s) for n in range(count)]
        volumes.append(Volume(f"v{index}", hdd(), count, layout, UNIT))
        unit = unit_bytes(layout, hdd().capacity, UNIT)
        below.append(own[0] if layout == "single" else add_array(builder, own, layout, unit, 1, f"v{index}"))
        members.append(own)
    entries = add_front(builder, controller, volumes, below)
    return Built(builder, list(entries.values()), members)


def cached(lines: int, **changes: Any) -> Controller:
    return Controller("perc", cache_bytes=lines * LINE_BYTES, **changes)


def ios(found: Run, members: Sequence[int]) -> int:
    return int(found.plant.stations["finished"][members].sum())


# ---- the write cache


def test_a_write_is_done_when_the_cache_has_it() -> None:
    found = build(cached(1024)).run(np.arange(100) * 1000, WRITE, np.arange(100) * 1_000_000 // 512 * 512, 8192)
    assert set(found.latency_ns) == {AT_ONCE_NS}


def test_a_write_costs_overhead_and_transfer() -> None:
    builder = PlantBuilder(1)
    drive = add_server(builder, "drive", 1, MS)
    volume = Volume("v", hdd(), 1, "single", UNIT, controller_overhead_ns=100_000)
    controller = cached(1024, iops=10_000, host_link_bytes_per_s=1_000_000_000)
    entry = add_front(builder, controller, [volume], [drive])["v"]
    found = run(builder, commands([0, S], entry, WRITE, [0, 8192], [8192, 65536]))
    assert found.latency_ns.tolist() == [100_000 + 100_000 + size for size in (8192, 65536)]


@pytest.mark.parametrize(
    ("layout", "count", "per_write"),
    [("single", 1, 1), ("raid0", 4, 1), ("raid10", 4, 2), ("raid5", 5, 4), ("raid6", 7, 6)],
)
def test_sustained_writes_are_limited_by_what_the_members_can_destage(
    layout: Layout, count: int, per_write: int
) -> None:
    """Small writes, no two of which lie next to each other, spread evenly over members of 1 ms a request."""
    lines, writes = 256, 3000
    columns = {"single": 1, "raid0": 4, "raid10": 2, "raid5": 4, "raid6": 5}[layout]
    row = np.arange(writes) * 11 % writes * columns + np.arange(writes) % columns
    built = build(cached(lines), [(layout, count)])
    found = built.run(np.zeros(writes), WRITE, row * UNIT, LINE_BYTES)
    expected_ns = (writes - lines) * per_write * MS / count
    assert found.outcome.end_ns == pytest.approx(expected_ns, rel=0.04)
    in_time = found.latency_ns[:lines]
    assert set(in_time) == {AT_ONCE_NS}  # the first of them found room


def test_who_waits_for_room_goes_first_come_first_served() -> None:
    found = build(cached(16), service_ns=MS).run(np.zeros(200), WRITE, np.arange(200) * UNIT, LINE_BYTES)
    assert (np.diff(found.latency_ns) >= 0).all()


def test_nobody_overtakes_who_waits_for_room_not_even_who_needs_none() -> None:
    offsets = np.append(np.arange(20), 19 - 16) * UNIT
    found = build(cached(16, destage_depth=1)).run([*[0] * 20, 10], WRITE, offsets, LINE_BYTES)
    assert found.latency_ns[20] + 10 >= found.latency_ns[19] > MS


def test_an_overwritten_line_is_destaged_once() -> None:
    built = build(cached(64, flush_interval_ns=S))
    times = np.append(np.arange(500) * MS, 3 * S)
    found = built.run(times, [WRITE] * 500 + [FLUSH], 0, [8192] * 500 + [0])
    assert ios(found, built.members[0]) == 1


def test_what_is_written_while_it_is_destaged_is_destaged_again() -> None:
    built = build(cached(64, flush_interval_ns=S), service_ns=100 * MS)
    found = built.run([0, S + 50 * MS, 5 * S], [WRITE, WRITE, FLUSH], 0, [8192, 4096, 0])
    assert ios(found, built.members[0]) == 2
    assert found.plant.write_caches[0]["used"] == 0


@pytest.mark.parametrize("op", [FLUSH])
def test_a_flush_is_done_at_once_for_the_cache_is_not_volatile(op: int) -> None:
    found = build(cached(1024)).run([0, 10], [WRITE, op], 0, [8192, 0])
    assert found.latency_ns.tolist() == [AT_ONCE_NS, AT_ONCE_NS]


def test_reads_of_dirty_data_are_answered_by_the_cache() -> None:
    times = [0, 100, 200, 300, 5 * S]
    offsets = [8192, 8192, 12288, 4096, 8192]
    lengths = [8192, 8192, 512, 8192, 512]
    found = build(cached(1024)).run(times, [WRITE, READ, READ, READ, READ], offsets, lengths)
    # whole, part of it, more than is there, and destaged after 4 s
    assert found.latency_ns.tolist() == [AT_ONCE_NS, AT_ONCE_NS, AT_ONCE_NS, MS + AT_ONCE_NS, MS + AT_ONCE_NS]


def test_a_line_is_destaged_after_the_flush_interval() -> None:
    """Until then, and while it is on its way, it is in the cache."""
    for after_ns, hit in ((S - 1, True), (S + MS - 1, True), (S + MS + 1000, False)):
        built = build(cached(1024, flush_interval_ns=S))
        found = built.run([0, after_ns], [WRITE, READ], 0, LINE_BYTES)
        assert (found.latency_ns[1] == AT_ONCE_NS) == hit, after_ns


def test_destaging_goes_from_the_high_to_the_low_mark() -> None:
    built = build(cached(100, high_water=0.6, low_water=0.3, flush_interval_ns=1000 * S))
    times = np.append(np.arange(61) * 10, S)  # the 61st is one more than the high mark
    found = built.run(times, [WRITE] * 61 + [FLUSH], np.append(np.arange(61) * UNIT, 0), [LINE_BYTES] * 61 + [0])
    destaged = ios(found, built.members[0])
    assert destaged + found.plant.write_caches[0]["used"] == 61
    assert 31 <= destaged <= 31 + 15  # when the low mark is reached, more are under way


def test_nothing_is_destaged_before_there_is_a_reason() -> None:
    built = build(cached(100, flush_interval_ns=1000 * S))
    times = np.append(np.arange(80) * 10, 900 * S)
    found = built.run(times, [WRITE] * 80 + [FLUSH], np.append(np.arange(80) * UNIT, 0), [LINE_BYTES] * 80 + [0])
    assert ios(found, built.members[0]) == 0


@pytest.mark.parametrize(("layout", "count", "columns"), [("raid5", 5, 4), ("raid6", 6, 4)])
def test_a_sequential_stream_reaches_parity_arrays_as_whole_rows(layout: Layout, count: int, columns: int) -> None:
    """Pieces of 8 KiB, yet nothing is read and each member gets long writes."""
    built = build(cached(16384, flush_interval_ns=S), [(layout, count)])
    pieces = 8 * LONGEST_DESTAGE_BYTES * columns // 8192
    found = built.run(np.append(np.arange(pieces) * 1000, 60 * S), [WRITE] * pieces + [FLUSH],
                      np.append(np.arange(pieces) * 8192, 0), [8192] * pieces + [0])  # fmt: skip
    assert found.plant.write_caches[0]["used"] == 0
    assert found.plant.stations["finished"][built.members[0]].tolist() == [8] * count


@pytest.mark.parametrize(("layout", "written"), [("raid0", [1, 1, 1, 1]), ("jbod", [4, 0, 0, 0])])
def test_no_destage_is_longer_than_one_may_be_at_a_drive(layout: Layout, written: list[int]) -> None:
    """Four times as much lies next to each other: on four striped drives, or on one of four that are not."""
    built = build(cached(4096, flush_interval_ns=S), [(layout, 4)])
    times, offsets = [0, 1, 2, 3, 60 * S], np.append(np.arange(4) * LONGEST_DESTAGE_BYTES, 0)
    found = built.run(times, [WRITE] * 4 + [FLUSH], offsets, [LONGEST_DESTAGE_BYTES] * 4 + [0])
    assert found.plant.write_caches[0]["used"] == 0
    assert found.plant.stations["finished"][built.members[0]].tolist() == written


def test_rows_that_are_not_whole_go_alone() -> None:
    """One and a half rows of 4 units: the whole row costs 5 writes; half a row 2 reads, 2 writes and one of parity."""
    built = build(cached(1024, flush_interval_ns=S), [("raid5", 5)])
    found = built.run([0, 1, 9 * S], [WRITE, WRITE, FLUSH], [0, 4 * UNIT, 0], [4 * UNIT, 2 * UNIT, 0])
    assert ios(found, built.members[0]) == 5 + 2 + 3


def test_a_row_in_part_is_destaged_without_its_neighbours() -> None:
    """The beginning of row 1, then the end of row 0: one run, and two destages."""
    built = build(cached(1024, flush_interval_ns=S), [("raid5", 5)])
    found = built.run([0, 10, 9 * S], [WRITE, WRITE, FLUSH], [4 * UNIT, 3 * UNIT, 0], [UNIT, UNIT, 0])
    array = [station.name for station in built.builder.stations].index("v0")
    assert found.plant.stations["finished"][array] == 2


def test_few_destages_are_outstanding_at_a_drive() -> None:
    """A depth of 2 on 4 drives: 8 small writes under way, whatever there is to do."""
    built = build(cached(4096, destage_depth=2, flush_interval_ns=0), [("raid0", 4)], service_ns=S)
    times = np.append(np.zeros(400), S // 2)
    found = built.run(times, [WRITE] * 400 + [FLUSH], np.append(np.arange(400) * UNIT, 0), [LINE_BYTES] * 400 + [0])
    assert found.plant.stations["outstanding"][built.members[0]].tolist() == [2] * 4


def test_a_very_long_write_goes_past_the_cache() -> None:
    built = build(cached(64))
    found = built.run([0, S], WRITE, 0, [33 * LINE_BYTES, 32 * LINE_BYTES])
    assert found.latency_ns.tolist() == [MS + AT_ONCE_NS, AT_ONCE_NS]


def test_a_discard_goes_to_the_device() -> None:
    found = build(cached(64)).run([0], DISCARD, 0, 1 << 30)
    assert found.latency_ns.tolist() == [MS + AT_ONCE_NS]


def test_volumes_share_the_cache() -> None:
    """One volume fills it: the other waits until that one has destaged."""
    built = build(cached(16), [("single", 1), ("single", 1)])
    volume = [0] * 40 + [1]
    found = built.run(np.append(np.zeros(40), 10), WRITE, np.arange(41) * UNIT, LINE_BYTES, volume=volume)
    assert found.latency_ns[-1] > 20 * MS
    assert found.plant.stations["finished"][built.members[0][0]] >= 24


def test_equal_addresses_of_two_volumes_are_two_lines() -> None:
    built = build(cached(64, flush_interval_ns=S), [("single", 1), ("single", 1)])
    found = built.run([0, 10, 20, 9 * S], [WRITE, READ, READ, FLUSH], 0, [8192, 8192, 8192, 0], volume=[0, 1, 0, 0])
    assert found.latency_ns.tolist() == [AT_ONCE_NS, MS + AT_ONCE_NS, AT_ONCE_NS, AT_ONCE_NS]
    assert [ios(found, own) for own in built.members] == [1, 1]


class Recorder(Device):
    """A drive that notes what it is sent: one request at a time, 3 ms each."""

    def __init__(self, engine: ReferenceEngine) -> None:
        self.engine, self.waiting, self.busy = engine, list[int](), False
        self.writes: list[tuple[int, int, int]] = []

    def accept(self, now: int, slot: int) -> int:
        request = self.engine.plant.requests[slot]
        if request["op"] == WRITE:
            self.writes.append((now, int(request["offset_bytes"]), int(request["length_bytes"])))
        self.waiting.append(slot)
        return WAIT if self.busy else 0

    def choose(self, now: int) -> tuple[int, int, int]:
        if self.busy or not self.waiting:
            return NONE, NEVER, NEVER
        self.busy = True
        return self.waiting.pop(0), now + 3 * MS, NEVER

    def finish(self, slot: int, now: int) -> list[Part]:
        self.busy = False
        return []


def sectors_held(plant: Plant, state: str) -> set[int]:
    """Sectors that are dirty, or sent, found by looking through all lines of the cache."""
    found, c = set(), plant.write_caches[0]
    for head in plant.pool[c["heads"] : c["heads"] + c["lists"]]:
        line = int(head)
        while line != NONE:
            row = plant.lines[line]
            found |= {
                int(row["number"]) * LINE_SECTORS + bit for bit in range(LINE_SECTORS) if int(row[state]) >> bit & 1
            }
            line = int(row["chain"])
    return found


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_every_dirty_sector_is_destaged_once_unless_it_is_written_again(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 60))
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    times = np.cumsum(generator.integers(0, data.draw(st.sampled_from([1, MS, 20 * MS])) + 1, count))
    sectors = generator.choice([1, 3, 16, 64], count)
    offsets = generator.integers(0, data.draw(st.sampled_from([64, 4096])), count)
    controller = cached(
        data.draw(st.sampled_from([18, 40, 400])),
        flush_interval_ns=data.draw(st.sampled_from([0, 5 * MS, S])),
        destage_depth=data.draw(st.integers(1, 3)),
    )
    built = build(controller)
    fed = commands(times, built.entries[0], WRITE, offsets * SECTOR_BYTES, sectors * SECTOR_BYTES)
    metrics = new_metrics(1, len(built.builder.stations), RESOURCES, 2, int(times[-1]) + 1)
    engine = ReferenceEngine(built.builder.build(256), [fed], metrics, {built.members[0][0]: Recorder})
    outcome = engine.run()
    recorder = engine.devices[built.members[0][0]]
    assert isinstance(recorder, Recorder)
    assert outcome.done_ns is not None
    dirty, under_way = sectors_held(engine.plant, "dirty"), sectors_held(engine.plant, "sent")
    past = 2 * sectors * SECTOR_BYTES > controller.cache_bytes
    written: dict[int, list[int]] = {}
    for row in np.flatnonzero(~past):
        for sector in range(offsets[row], offsets[row] + sectors[row]):
            written.setdefault(int(sector), []).append(int(times[row]))
    sent: dict[int, list[int]] = {}
    for now, offset, length in recorder.writes:
        for sector in range(offset // SECTOR_BYTES, (offset + length) // SECTOR_BYTES):
            sent.setdefault(sector, []).append(now)
    for sector, at in written.items():
        destages = len(sent.get(sector, []))
        assert destages + (sector in dirty) <= len(at)
        assert sector in dirty | under_way or sent[sector][-1] >= at[-1]
    assert not sent.keys() - written.keys()
    assert dirty <= written.keys()


# ---- ceilings and links


def test_commands_of_all_volumes_share_a_ceiling() -> None:
    built = build(Controller("perc", iops=10_000), [("single", 1), ("single", 1)], service_ns=1000)
    found = built.run(np.zeros(200), READ, 0, 512, volume=np.arange(200) % 2)
    assert found.outcome.end_ns == 200 * 100_000 + 1000 + 1
    assert [ios(found, own) for own in built.members] == [100, 100]


def test_the_host_link_carries_both_directions_at_once() -> None:
    """100 reads and 100 writes of 1 MB over 1 GB/s: 100 ms, and not 200."""
    built = build(Controller("perc", host_link_bytes_per_s=10**9), [("single", 1)], service_ns=1)
    found = built.run(np.zeros(200), [READ, WRITE] * 100, 0, 10**6)
    assert found.outcome.end_ns == pytest.approx(100 * MS, rel=1e-3)


def test_the_processor_carries_both_directions_together() -> None:
    built = build(Controller("perc", bytes_per_s=10**9), [("single", 1)], service_ns=1)
    found = built.run(np.zeros(200), [READ, WRITE] * 100, 0, 10**6)
    assert found.outcome.end_ns == pytest.approx(200 * MS, rel=1e-3)


def test_flushes_and_discards_move_no_data() -> None:
    built = build(Controller("perc", host_link_bytes_per_s=1000, bytes_per_s=1000), [("single", 1)], service_ns=1)
    found = built.run([0, 0], [FLUSH, DISCARD], 0, [0, 1 << 30])
    assert found.outcome.end_ns < 10


def test_drives_share_the_drive_link() -> None:
    """RAID 10 writes everything twice over the link, and reads it once."""
    for op, copies in ((WRITE, 2), (READ, 1)):
        builder = PlantBuilder(1)
        volume = Volume("v", hdd(seek_single_cylinder=1, seek_average=2, seek_full_stroke=3), 8, "raid10", UNIT)
        controller = Controller("perc", drive_link_bytes_per_s=1_000_000)
        entry = add_controller(builder, controller, [volume])["v"]
        found = run(builder, commands(np.zeros(64), entry, op, np.arange(64) * UNIT, UNIT))
        assert found.outcome.end_ns == pytest.approx(copies * 64 * UNIT * 1000, rel=0.02)


@pytest.mark.parametrize(
    ("name", "expected_mb_s"),
    [
        ("sas1-x4", 1200), ("sas2-x4", 2400), ("sas3", 1200), ("sata3", 600), ("sata2", 300),
        ("fc4", 400), ("fc8", 800), ("fc16", 1600), ("ethernet10", 1250), ("pcie1-x8", 2000), ("pcie3-x8", 7877),
    ],
)  # fmt: skip
def test_links_carry_somewhat_less_than_their_nominal_rate(name: str, expected_mb_s: int) -> None:
    assert 0.85 < link_bytes_per_s(name) / (expected_mb_s * 10**6) < 1.04


def test_every_link_says_where_its_rate_is_from() -> None:
    assert all(link.source for link in LINKS.values())


@pytest.mark.parametrize("name", ["pcie", "pcie9-x8", "sata3-x2", "sas1-x0", "sas1-x17", "", "x4"])
def test_a_link_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"is not a link|lanes"):
        link_bytes_per_s(name)


def blamed(built: Built, found: Run) -> tuple[str, str]:
    stations = built.builder.stations
    _, index, resource = max(to_blame(utilisation(found.metrics, stations, 0, 1), stations))
    return stations[index].name, stations[index].resources[resource]


@pytest.mark.parametrize(
    ("ceiling", "op", "name"),
    [
        ({"iops": 1000}, READ, "perc.commands"),
        ({"bytes_per_s": 10**7}, READ, "perc.processor"),
        ({"host_link_bytes_per_s": 10**7}, READ, "perc.host link.reads"),
        ({"host_link_bytes_per_s": 10**7}, WRITE, "perc.host link.writes"),
    ],
)
def test_a_ceiling_that_is_reached_is_to_blame(ceiling: dict[str, Any], op: int, name: str) -> None:
    built = build(Controller("perc", **ceiling), service_ns=100)
    found = built.run(np.arange(3000) * 100_000, op, 0, 65536)
    assert blamed(built, found) == (name, "servers")


@pytest.mark.parametrize("lines", [64, 4096])  # always full, and never
def test_drives_are_to_blame_for_a_cache_that_fills(lines: int) -> None:
    built = build(cached(lines), [("raid0", 4)])
    found = built.run(np.arange(3000) * 100_000, WRITE, np.arange(3000) * UNIT, LINE_BYTES)
    name, resource = blamed(built, found)
    assert name != "perc.cache"
    assert resource == "servers"


def test_a_full_cache_is_to_blame_for_what_it_lets_wait() -> None:
    """One destage at a time: four drives are busy for a quarter of the time each."""
    built = build(cached(64, destage_depth=1), [("raid5", 4)])
    found = built.run(np.arange(3000) * 100_000, WRITE, np.arange(3000) * 3 * UNIT, LINE_BYTES)
    shares = [share for share, index, _ in utilisation(found.metrics, built.builder.stations, 0, 1)
              if built.builder.stations[index].name.startswith("v0.")]  # fmt: skip
    assert max(shares) < 0.95
    assert blamed(built, found) == ("perc.cache", "lines")


# ---- a defect


@pytest.mark.parametrize(("layout", "count", "held"), [("raid0", 4, True), ("raid0", 1, False), ("raid10", 4, False)])
def test_a_known_defect_holds_writes_to_what_was_measured(layout: Layout, count: int, held: bool) -> None:
    built = build(cached(65536, known_defect="perc6-raid0-write-back"), [(layout, count)], service_ns=1)
    found = built.run(np.zeros(320), WRITE, np.arange(320) * 262144, 262144)
    rate = 320 * 262144 * S / found.outcome.end_ns
    assert (rate == pytest.approx(DEFECT_BYTES_PER_S["perc6-raid0-write-back"], rel=1e-3)) == held


def test_a_known_defect_needs_the_write_cache() -> None:
    built = build(Controller("perc", known_defect="perc6-raid0-write-back"), [("raid0", 4)], service_ns=1)
    found = built.run(np.zeros(320), WRITE, np.arange(320) * 262144, 262144)
    assert found.outcome.end_ns < MS


# ---- in a scenario


SCENARIO = """
[volumes.data]
device = "seagate-cheetah-15k7-300"
count = 5
layout = "raid5"

[volumes.log]
device = "seagate-cheetah-15k7-300"
count = 2
layout = "raid10"

[placement]
default = "data"

[controllers.perc]
"""


def load(tmp_path: Path, keys: str) -> Any:
    (tmp_path / "mine.toml").write_text(SCENARIO + keys)
    return load_scenario(str(tmp_path / "mine.toml"))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('write_policy = "write-back"', "perc.write_policy: write-back needs a cache"),
        ('cache = "1 KiB"', "perc.cache: is not between"),
        ('cache = "1 GiB"\nhigh_water = 0.2\nlow_water = 0.4', "perc.low_water: is above high_water"),
        ('host_link = "pcie1-x32"', "perc.host_link: 'pcie1-x32': pcie1 has 1 to 16 lanes"),
        ('drive_link = "sass1-x4"', "did you mean 'sas1'"),
        ('volumes = ["dta"]', "'dta' is not one of the volumes; did you mean 'data'?"),
        ('volumes = ["data"]\n[controllers.other]', "controllers.other.volumes: there are several controllers"),
        ('volumes = ["data"]\n[controllers.b]\nvolumes = ["data"]', "'data' belongs to 'perc' already"),
        ('cachee = "1 GiB"', "unknown key 'cachee'"),
    ],
)
def test_what_is_impossible_is_said_so(tmp_path: Path, keys: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path, keys)
    assert message in str(caught.value)


def test_a_stripe_must_be_whole_lines_of_the_cache(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        SCENARIO.replace("count = 5", 'count = 5\nstripe = "6 KiB"') + 'cache = "1 GiB"'
    )
    with pytest.raises(ScenarioError, match=r"volumes\.data\.stripe: stripe is not a multiple of 4096 bytes"):
        load_scenario(str(tmp_path / "mine.toml"))


def test_a_cache_means_write_back(tmp_path: Path) -> None:
    assert load(tmp_path, "").controllers["perc"].cache_bytes is None
    assert load(tmp_path, 'cache = "256 MiB"').controllers["perc"].cache_bytes == 256 << 20
    through = load(tmp_path, 'cache = "256 MiB"\nwrite_policy = "write-through"')
    assert through.controllers["perc"].cache_bytes is None


def test_a_controller_has_all_volumes_on_drives_unless_it_names_them(tmp_path: Path) -> None:
    assert [volume.name for volume in load(tmp_path, "").behind("perc")] == ["data", "log"]
    named = load(tmp_path, 'volumes = ["log"]')
    assert [volume.name for volume in named.behind("perc")] == ["log"]
    builder = PlantBuilder(1)
    assert set(named.build(builder)) == {"data", "log"}


def test_cloud_volumes_pass_a_controller_by() -> None:
    volume = {"device": "aws-io2", "count": 1, "layout": "single", "size": "1 TiB", "iops": 8000}
    made = load_scenario("15k-raid10", [f"volumes.data.{key}={value}" for key, value in volume.items()])
    assert set(made.build(PlantBuilder(1))) == {"data"}
    assert not made.controllers


def test_a_scenario_with_a_controller_reads_back_as_it_was(tmp_path: Path) -> None:
    first = load(tmp_path, 'cache = "256 MiB"\nhost_link = "pcie1-x8"\nthroughput = "1 GB/s"\niops = 1000')
    (tmp_path / "again.toml").write_text(first.to_toml())
    again = load_scenario(str(tmp_path / "again.toml"))
    assert again.controllers == first.controllers
    assert again.to_toml() == first.to_toml()


def test_defaults_that_nobody_knows_are_listed_as_assumed(tmp_path: Path) -> None:
    assumed = load(tmp_path, 'cache = "256 MiB"\nlow_water = 0.3').model.controllers["perc"].assumed_defaults("perc")
    assert [(entry["what"], entry["source"]) for entry in assumed] == [
        ("perc: controller, destage_depth", "assumed: 1 .. 64")
    ]
    assert load(tmp_path, "iops = 1000").model.controllers["perc"].assumed_defaults("perc") == []


def test_the_time_of_a_command_in_a_controller_is_listed_with_what_is_assumed() -> None:
    """A flush that a write cache with a battery answers takes nothing else."""
    found = {entry["what"]: entry["value"] for entry in parameters_assumed(load_scenario("15k-raid10"))}
    assert found["data: controller_overhead"] == "50 µs"
    bare = parameters_assumed(load_scenario("15k-raid10-bare"))
    assert not any("controller_overhead" in entry["what"] for entry in bare)


def test_what_is_assumed_stays_so_when_a_result_is_run_again(tmp_path: Path) -> None:
    first = load(tmp_path, 'cache = "256 MiB"')
    (tmp_path / "again.toml").write_text(first.to_toml())
    again = load_scenario(str(tmp_path / "again.toml")).model.controllers["perc"].assumed_defaults("perc")
    assert again == first.model.controllers["perc"].assumed_defaults("perc") != []


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('cache = "256 MiB"', True),
        ('cache = "256 MiB"\nhost_link = "pcie2-x8"', False),
        ('cache = "256 MiB"\nthroughput = "1 GB/s"', False),
        ('cache = "256 MiB"\nwrite_policy = "write-through"', False),
        ('host_link = "pcie2-x8"', False),
    ],
)
def test_a_cache_that_takes_writes_in_no_time_is_said(tmp_path: Path, keys: str, said: bool) -> None:
    found = [one for one in of_hardware(load(tmp_path, keys)) if "last 0 ns" in one]
    assert len(found) == (2 if said else 0)
    assert all("write controllers.perc.host_link or volumes." in one for one in found)
    slow = SCENARIO.replace('layout = "raid5"', 'layout = "raid5"\ncontroller_overhead = "50 us"')
    (tmp_path / "slow.toml").write_text(slow + keys)
    found = [one for one in of_hardware(load_scenario(str(tmp_path / "slow.toml"))) if "last 0 ns" in one]
    assert [one.partition(":")[0] for one in found] == (["log"] if said else [])


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('cache = "256 MiB"\nhost_link = "pcie2-x8"', 2),
        ('cache = "256 MiB"\nthroughput = "1 GB/s"', 2),
        ('cache = "256 MiB"\nhost_link = "pcie2-x8"\niops = 20000', 0),
        ('host_link = "pcie2-x8"', 0),
    ],
)
def test_a_cache_that_takes_writes_in_the_time_of_their_bytes_is_said(tmp_path: Path, keys: str, said: int) -> None:
    """8 KiB take 2 µs on PCIe; that a command takes 50 is assumed of the controllers in the library."""
    found = [one for one in of_hardware(load(tmp_path, keys)) if "as long as their bytes take on its links" in one]
    assert len(found) == said
    assert all("nothing says how long a command takes there; write volumes." in one for one in found)
    slow = SCENARIO.replace('layout = "raid5"', 'layout = "raid5"\ncontroller_overhead = "50 us"')
    (tmp_path / "slow.toml").write_text(slow + keys)
    assert sum("their bytes take" in one for one in of_hardware(load_scenario(str(tmp_path / "slow.toml")))) == said / 2


@pytest.mark.parametrize(("policy", "said"), [("write-back", 1), ("write-through", 0)])
def test_a_write_cache_that_starts_empty_is_said(tmp_path: Path, policy: str, said: int) -> None:
    made = load(tmp_path, f'cache = "256 MiB"\nhost_link = "pcie2-x8"\nwrite_policy = "{policy}"')
    found = list(empty_caches(made, statements=False))
    assert sum("write cache of controllers.perc starts empty" in one for one in found) == said
    assert not any("warmup" in one for one in found)  # requests have none


def test_a_write_cache_whose_start_is_not_counted_is_not_called_empty(tmp_path: Path) -> None:
    load(tmp_path, 'cache = "256 MiB"\nhost_link = "pcie2-x8"\nflush_interval = "3 s"')
    made = [load_scenario(str(tmp_path / "mine.toml"), [f"replay.warmup={warmup}"]) for warmup in ("5s", "6s")]
    said = [list(empty_caches(one, statements=True)) for one in made]
    assert said[1] == []
    assert "set replay.warmup = 6 s to leave that time out" in said[0][0]


@pytest.mark.parametrize(("share", "said"), [(0.09, True), (0.11, False)])
def test_disks_that_hold_little_are_said_to_seek_little(tmp_path: Path, share: float, said: bool) -> None:
    made = load(tmp_path, 'cache = "256 MiB"')
    capacity = made.volumes["data"].capacity_bytes
    found = list(short_seeks(made, {"data": int(share * capacity)}))
    assert [" of volume data: disk arms move little" in one for one in found] == [True] * said
    flash = load_scenario("pcie-flash")
    assert list(short_seeks(flash, {"data": 8192})) == []


def test_a_known_defect_is_told(tmp_path: Path) -> None:
    keys = 'cache = "256 MiB"\nknown_defect = "perc6-raid0-write-back"'
    assert load(tmp_path, keys).defects == []
    (tmp_path / "mine.toml").write_text(SCENARIO.replace("raid5", "raid0") + keys)
    (sentence,) = load_scenario(str(tmp_path / "mine.toml")).defects
    assert sentence.startswith("data: writes to RAID 0")
