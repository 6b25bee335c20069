"""Flash translation layer: where units lie, what collection copies, and the closed forms of write amplification."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.examples import examples, first
from tests.runs import needs_jit
from tests.twins.ftl import Ftl
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.ftl import PageMapping, add_ftl, greedy, greedy_valid_units, lru, lru_valid_units
from tiersim.devices.ssd.ftl_kernels import die_of, place_of, trim_unit, write_unit
from tiersim.devices.station_records import NONE, Plant
from tiersim.scenarios.validation.write_amplification import (
    HOT_AND_COLD,
    PUBLISHED,
    exact_mapping,
    mapped,
    write_random,
)

pytestmark = pytest.mark.kernels


def plant_with(mapping: PageMapping, *, steady: bool, seed: int = 1) -> tuple[Plant, int]:
    builder = PlantBuilder(seed)
    add_ftl(builder, PageMapping(40, 1, 4, 0.5, "lru"), steady=True)  # so that no table begins at 0
    ftl = add_ftl(builder, mapping, steady=steady)
    return builder.build(), ftl


def places(plant: Plant, ftl: int) -> dict[int, int]:
    units = int(plant.ftls[ftl]["logical_units"])
    found = {unit: place_of(plant, ftl, unit) for unit in range(units)}
    return {unit: place for unit, place in found.items() if place != NONE}


def ring(plant: Plant, head: int) -> list[int]:
    """Blocks of a list, the oldest first; each knows its neighbours."""
    rows, block = plant.mapped_blocks, int(plant.mapped_blocks[head]["newer"])
    found = []
    while block != head:
        assert rows[rows[block]["newer"]]["older"] == block
        found.append(block)
        block = int(rows[block]["newer"])
    return found


def assert_consistent(plant: Plant, ftl: int) -> None:
    """What is counted of blocks and dies is what the map says, and every block is in its list."""
    f = {name: int(plant.ftls[ftl][name]) for name in plant.ftls.dtype.names or ()}
    size = f["block_units"]
    lies = places(plant, ftl)
    assert len(set(lies.values())) == len(lies)
    for unit, place in lies.items():
        assert plant.units[f["holds"] + place] == unit
    valid = np.bincount([place // size for place in lies.values()], minlength=f["dies"] * f["die_blocks"])
    rows = plant.mapped_blocks[f["first_block"] : f["first_block"] + len(valid)]
    assert rows["valid_units"].tolist() == valid.tolist()
    for die in range(f["dies"]):
        d = plant.ftl_dies[f["first_die"] + die]
        own = range(die * f["die_blocks"], (die + 1) * f["die_blocks"])
        assert d["valid_units"] == valid[own.start : own.stop].sum() <= f["most_valid"]
        lists = [ring(plant, f["first_list"] + die * f["lists"] + index) for index in range(f["lists"])]
        loose = [int(block) for block in (d["active"], d["victim"]) if block != NONE]
        every = sorted(block - f["first_block"] for block in [*loose, *(block for found in lists for block in found)])
        assert every == list(own)
        assert len(lists[0]) == d["free_blocks"]
        assert all(plant.mapped_blocks[block]["valid_units"] == 0 for block in lists[0])
        if f["greedy"]:
            for count, found in enumerate(lists[1:]):
                assert all(plant.mapped_blocks[block]["valid_units"] == count for block in found)
                assert not found or d["lowest"] <= count
        active = int(d["active"]) - f["first_block"]
        assert all(place % size < d["filled_units"] for place in lies.values() if place // size == active)
    assert all(die_of(plant, ftl, place) == place // size // f["die_blocks"] for place in lies.values())


def programmed(plant: Plant, ftl: int) -> int:
    """Units that lie in blocks, stale or not, and those that were erased with their block."""
    f = plant.ftls[ftl]
    dies = plant.ftl_dies[f["first_die"] : f["first_die"] + f["dies"]]
    full = int(f["dies"]) * (int(f["die_blocks"]) - 1) - int(dies["free_blocks"].sum()) + int(f["erased_blocks"])
    return full * int(f["block_units"]) + int(dies["filled_units"].sum())


@st.composite
def small_mappings(draw: st.DrawFn) -> PageMapping:
    mapping = PageMapping(
        units=draw(st.integers(4, 60)),
        dies=draw(st.integers(1, 4)),
        block_units=draw(st.integers(1, 9)),
        over_provisioning=draw(st.sampled_from([0.07, 0.28, 1.0, 4.0])),
        collection=draw(st.sampled_from(["greedy", "lru"])),
    )
    return mapping


@pytest.mark.long
@given(
    small_mappings().filter(lambda mapping: mapping.problem() is None),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 59), st.integers(0, 3), st.integers(0, 7)), max_size=300),
    st.integers(1, 60),
)
@settings(max_examples=examples(200), deadline=None)
def test_every_unit_lies_where_it_was_last_written(
    mapping: PageMapping, steady: bool, steps: list[tuple[int, int, int]], spread: int
) -> None:
    """Any writes to any dies, and trims, against a set of what is mapped; a small *spread* makes few units hot."""
    plant, ftl = plant_with(mapping, steady=steady)
    there = set(range(mapping.units)) if steady else set()
    assert_consistent(plant, ftl)
    before, written, moved = programmed(plant, ftl), 0, 0
    for unit, die, kind in steps:
        unit, die = unit % spread % mapping.units, die % mapping.dies
        if kind == 0:
            trim_unit(plant, ftl, unit)
            there.discard(unit)
        else:
            moved += write_unit(plant, ftl, die, unit)
            there.add(unit)
            written += 1
        assert (place_of(plant, ftl, unit) != NONE) == (unit in there)
    assert_consistent(plant, ftl)
    assert set(places(plant, ftl)) == there
    assert (plant.ftls[ftl]["host_units"], plant.ftls[ftl]["copied_units"]) == (written, moved)
    assert programmed(plant, ftl) - before == written + moved


def test_the_emptiest_block_is_known_after_each_trim() -> None:
    """No write goes between: a collector that looks beyond the emptiest block may never find one."""
    plant, ftl = plant_with(PageMapping(40, 2, 4, 0.28, "greedy"), steady=True)
    for unit in np.random.default_rng(1).permutation(40).tolist():
        trim_unit(plant, ftl, unit)
        assert_consistent(plant, ftl)


@example(PageMapping(64, 1, 8, 0.25, "greedy"), 0, 40)  # the block that was filled last is not the emptiest
@given(small_mappings().filter(lambda mapping: mapping.problem() is None), st.integers(0, 2**32), st.integers(1, 60))
@settings(max_examples=examples(120), deadline=None)
def test_a_fresh_drive_puts_and_copies_as_its_twin(mapping: PageMapping, seed: int, spread: int) -> None:
    """So many writes that what is spare is written several times."""
    draw = np.random.default_rng(seed)
    steps = draw.integers(0, (spread, mapping.dies, 8), (8 * mapping.units, 3)).tolist()
    plant, ftl = plant_with(mapping, steady=False)
    twin = Ftl(mapping)
    blocks = mapping.sealed_blocks + 1
    for unit, die, kind in [*([unit, 0, 1] for unit in range(mapping.units)), *steps]:
        unit %= mapping.units
        if kind == 0:
            trim_unit(plant, ftl, unit)
            twin.trim(unit)
        else:
            assert write_unit(plant, ftl, die, unit) == twin.write(die, unit)
    lies = {unit: (die * blocks + block) * twin.size + slot for unit, (die, block, slot) in twin.place_of.items()}
    assert places(plant, ftl) == lies


@example(PageMapping(9, 1, 3, 0.07, "greedy"), 0, 4)  # a block that was filled with few valid units
@given(small_mappings().filter(lambda mapping: mapping.problem() is None), st.integers(0, 2**32), st.integers(1, 60))
@settings(max_examples=examples(120), deadline=None)
def test_a_steady_drive_collects_as_its_twin(mapping: PageMapping, seed: int, spread: int) -> None:
    """Both begin with the same full drive, in whose blocks are stale units."""
    plant, ftl = plant_with(mapping, steady=True, seed=seed % 1000)
    f, blocks, twin = plant.ftls[ftl], mapping.sealed_blocks + 1, Ftl(mapping)

    def local(die: int, block: int) -> int:
        return block - int(f["first_block"]) - die * blocks

    rows = plant.ftl_dies[f["first_die"] : f["first_die"] + mapping.dies]
    sealed = [
        [
            local(die, block)
            for index in range(1, int(f["lists"]))
            for block in ring(plant, int(f["first_list"]) + die * int(f["lists"]) + index)
        ]
        for die in range(mapping.dies)
    ]
    lies = {
        unit: (place // twin.size // blocks, place // twin.size % blocks, place % twin.size)
        for unit, place in places(plant, ftl).items()
    }
    assert [local(die, int(row["active"])) for die, row in enumerate(rows)] == [0] * mapping.dies
    twin.begin_full(lies, [local(die, int(row["victim"])) for die, row in enumerate(rows)], sealed)
    draw = np.random.default_rng(seed)
    for unit, die, kind in draw.integers(0, (spread, mapping.dies, 8), (8 * mapping.units, 3)).tolist():
        unit %= mapping.units
        if kind == 0:
            trim_unit(plant, ftl, unit)
            twin.trim(unit)
        else:
            assert write_unit(plant, ftl, die, unit) == twin.write(die, unit)
    found = {unit: (die * blocks + block) * twin.size + slot for unit, (die, block, slot) in twin.place_of.items()}
    assert places(plant, ftl) == found


@pytest.mark.parametrize("collection", ["greedy", "lru"])
def test_a_full_drive_with_two_spare_units_goes_on_whatever_is_written(collection: Any) -> None:
    mapping = PageMapping(22, 1, 4, 0.05, collection)
    assert mapping.sealed_blocks == 6
    plant, ftl = plant_with(mapping, steady=False)
    for unit in [*range(22), *[7] * 200, *range(22), *range(0, 22, 3), *[21] * 50]:
        write_unit(plant, ftl, 0, unit)
    assert_consistent(plant, ftl)
    for unit in range(22):
        trim_unit(plant, ftl, unit)
    assert places(plant, ftl) == {}
    copied = int(plant.ftls[ftl]["copied_units"])
    for unit in range(22):
        write_unit(plant, ftl, 0, unit)
    assert plant.ftls[ftl]["copied_units"] == copied
    assert_consistent(plant, ftl)


def test_one_hot_unit_costs_greedy_nothing_and_lru_a_copy_of_all_that_is_cold() -> None:
    amplification = {}
    for collection in ("greedy", "lru"):
        plant, ftl = plant_with(PageMapping(1024, 1, 16, 0.25, collection), steady=False)
        for unit in range(1024):
            write_unit(plant, ftl, 0, unit)
        start = int(plant.ftls[ftl]["copied_units"])
        writes = 4000
        for _ in range(writes):
            write_unit(plant, ftl, 0, 5)
        amplification[collection] = 1 + (int(plant.ftls[ftl]["copied_units"]) - start) / writes
    assert amplification["greedy"] < 1.01
    assert amplification["lru"] == pytest.approx(lru(0.25, ((1 / 1024, 1), (1023 / 1024, 0))), rel=0.05)


def test_writes_to_a_full_die_go_to_the_next() -> None:
    mapping = PageMapping(1000, 4, 8, 0.1)
    plant, ftl = plant_with(mapping, steady=False)
    for unit in range(1000):
        write_unit(plant, ftl, 0, unit)
    assert_consistent(plant, ftl)
    held = np.bincount([die_of(plant, ftl, place) for place in places(plant, ftl).values()])
    assert held[0] == mapping.most_valid
    assert held[:3].min() > held[3] > 0


def test_a_fresh_drive_copies_nothing_until_it_is_full() -> None:
    mapping = PageMapping(4000, 2, 16, 0.28)
    plant, ftl = plant_with(mapping, steady=False)
    writes = 2 * 16 * mapping.sealed_blocks
    assert sum(write_unit(plant, ftl, number % 2, number * 7 % 4000) for number in range(writes)) == 0
    assert plant.ftls[ftl]["erased_blocks"] == 0
    assert plant.ftl_dies["free_blocks"][1:].tolist() == [1, 1]


def test_sequential_overwrites_copy_next_to_nothing() -> None:
    mapping = PageMapping(4000, 2, 16, 0.28)
    plant, ftl = plant_with(mapping, steady=False)
    copied = sum(write_unit(plant, ftl, number % 2, number % 4000) for number in range(20_000))
    assert copied == 0


def test_copies_are_paced() -> None:
    """A victim with x of b units valid is copied within the b - x writes that it makes room for, alike for each."""
    mapping = exact_mapping("greedy", 0.28, 64, dies=1, blocks=100)
    plant, ftl = plant_with(mapping, steady=True)
    rng = np.random.default_rng(1)
    moved = [write_unit(plant, ftl, 0, int(unit)) for unit in rng.integers(0, mapping.units, 5000)]
    assert max(moved) <= 4  # 1.4 on average
    assert np.mean(moved) == pytest.approx(greedy(0.28, 64) - 1, rel=0.03)


def test_a_block_whose_units_went_stale_while_it_was_filled_is_cleaned_first() -> None:
    plant, ftl = plant_with(PageMapping(640, 1, 8, 0.1), steady=True)
    d, first = plant.ftl_dies[plant.ftls[ftl]["first_die"]], int(plant.ftls[ftl]["first_block"])
    rng = np.random.default_rng(1)
    while plant.ftls[ftl]["host_units"] < 1000 or d["filled_units"] < 8:
        write_unit(plant, ftl, 0, int(rng.integers(640)))
    assert d["lowest"] > 0
    filled = int(d["active"])
    for unit, place in places(plant, ftl).items():
        if first + place // 8 == filled:
            trim_unit(plant, ftl, unit)
    assert write_unit(plant, ftl, 0, 0) == 0
    assert int(d["active"]) != filled
    assert plant.mapped_blocks[filled]["valid_units"] == 0
    assert plant.ftl_dies["free_blocks"][1] == 1  # it was erased at once: nothing had to be copied
    assert_consistent(plant, ftl)


def test_mappings_that_cannot_be_are_refused_with_a_reason() -> None:
    assert PageMapping(64, 1, 64, 0.07).problem() is None
    assert "fewer than three blocks a die" in str(PageMapping(59, 1, 64, 0.07).problem())
    assert "less than two spare units" in str(PageMapping(127, 1, 64, 0.001).problem())
    assert "more units than a map can hold" in str(PageMapping(2**32 - 10, 8, 256, 0.07).problem())
    with pytest.raises(ValueError, match="fewer than three blocks"):
        add_ftl(PlantBuilder(1), PageMapping(8, 4, 64, 0.07), steady=False)


def test_the_same_seed_gives_the_same_drive_and_another_one_another() -> None:
    mapping = PageMapping(500, 3, 8, 0.2)
    first, again, other = (plant_with(mapping, steady=True, seed=seed)[0].units for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("spare", PUBLISHED)
def test_the_closed_forms_give_the_published_values(spare: float) -> None:
    for (collection, block_units), published in PUBLISHED[spare].items():
        found = greedy(spare, block_units) if collection == "greedy" else lru(spare)
        assert found == pytest.approx(published, abs=0.00051)


@given(st.floats(0.01, 5), st.floats(0.05, 0.95), st.floats(0.0, 1.0), st.integers(2, 300))
def test_the_closed_forms_hold_their_own_equations(spare: float, units: float, writes: float, size: int) -> None:
    uniform = lru(spare)
    assert uniform == pytest.approx(1 / -math.expm1(-(1 + spare) / uniform), rel=1e-9)  # W of the equation, solved
    assert 1 <= greedy(spare, size) <= uniform * (1 + 1e-9)
    assert lru(spare, ((units, writes), (1 - units, 1 - writes))) >= uniform * (1 - 1e-9)
    assert lru(spare, ((units, units), (1 - units, 1 - units))) == pytest.approx(uniform, rel=1e-9)


@pytest.mark.parametrize("law", [greedy_valid_units, lru_valid_units])
@pytest.mark.parametrize("spare", [0.07, 0.28, 1.0, 6.0])
def test_blocks_of_the_steady_state_hold_all_that_is_there(law: Any, spare: float) -> None:
    valid: NDArray[np.int64] = law(spare, 256, 2000)
    assert valid.mean() == pytest.approx(256 / (1 + spare), rel=0.003)
    assert (np.diff(valid) >= -1).all()  # to whole units
    assert valid.min() >= 0
    assert valid.max() <= 256


@needs_jit
@pytest.mark.parametrize("spare", [0.07, 0.12, 0.28, 0.5, 1.0])
@pytest.mark.parametrize(("collection", "block_units"), [("greedy", 64), ("greedy", 256), ("lru", 64)])
@pytest.mark.parametrize("dies", first(1, 8, 1))
def test_mapped_is_as_published(spare: float, collection: Any, block_units: int, dies: int) -> None:
    mapping = exact_mapping(collection, spare, block_units, dies, 2048 // dies)
    expected = greedy(spare, block_units) if collection == "greedy" else lru(spare)
    assert mapped(mapping, 1, 2) == pytest.approx(expected, rel=0.02)


@needs_jit
@pytest.mark.parametrize("collection", ["greedy", "lru"])
def test_mapped_is_analytic_with_few_large_blocks_too(collection: Any) -> None:
    mapping = exact_mapping(collection, 0.28, 1024, dies=8, blocks=16)
    expected = greedy(0.28, 1024) if collection == "greedy" else lru(0.28)
    assert mapped(mapping, 2, 6) == pytest.approx(expected, rel=0.02)


@needs_jit
@pytest.mark.parametrize("collection", ["greedy", "lru"])
@pytest.mark.parametrize("spare", first(2, 0.07, 1.0, 0.28))
def test_the_steady_start_is_steady(collection: Any, spare: float) -> None:
    """From the first writes on, as after many."""
    mapping = exact_mapping(collection, spare, 128)
    expected = greedy(spare, 128) if collection == "greedy" else lru(spare)
    assert mapped(mapping, 0, 0.1) == pytest.approx(expected, rel=0.02)
    assert mapped(mapping, 0, 0.02) == pytest.approx(expected, rel=0.05)
    assert mapped(mapping, 10, 2) == pytest.approx(expected, rel=0.02)


@needs_jit
def test_a_fresh_drive_becomes_a_steady_one() -> None:
    mapping = exact_mapping("greedy", 0.12, 64)
    assert mapped(mapping, 0, 1, steady=False) < 2
    assert mapped(mapping, 10, 2, steady=False) == pytest.approx(greedy(0.12, 64), rel=0.02)


@needs_jit
@pytest.mark.parametrize("hot", HOT_AND_COLD)
@pytest.mark.parametrize("spare", first(1, 0.12, 0.07, 0.28))
def test_hot_and_cold_in_one_stream_are_worse_than_uniform(hot: tuple[float, float], spare: float) -> None:
    greedy_found = mapped(exact_mapping("greedy", spare, 256, dies=2, blocks=512), 8, 3, hot)
    assert greedy_found == pytest.approx(HOT_AND_COLD[hot][spare], rel=0.03)
    lru_found = mapped(exact_mapping("lru", spare, 64, dies=2, blocks=512), 8, 3, hot)
    assert lru_found == pytest.approx(lru(spare, (hot, (1 - hot[0], 1 - hot[1]))), rel=0.02)


@needs_jit
def test_trimmed_units_are_spare_space() -> None:
    mapping = exact_mapping("greedy", 0.12, 64)
    plant, ftl = plant_with(mapping, steady=True)
    kept = round(mapping.units * 0.8)
    for unit in range(kept, mapping.units):
        trim_unit(plant, ftl, unit)
    writes = 4 * kept
    write_random(plant, ftl, 0, writes, kept, 2**32)
    before = int(plant.ftls[ftl]["copied_units"])
    write_random(plant, ftl, writes, writes, kept, 2**32)
    found = 1 + (int(plant.ftls[ftl]["copied_units"]) - before) / writes
    assert found == pytest.approx(greedy(1.12 / 0.8 - 1, 64), rel=0.02)


@needs_jit
def test_what_moves_within_a_die_stays_there_and_dies_wear_alike() -> None:
    mapping = exact_mapping("greedy", 0.28, 64, dies=4, blocks=128)
    plant, ftl = plant_with(mapping, steady=True)
    write_random(plant, ftl, 0, 200_000, mapping.units, 2**32)
    assert_consistent(plant, ftl)
    held = np.bincount([die_of(plant, ftl, place) for place in places(plant, ftl).values()])
    assert held == pytest.approx(np.full(4, mapping.units / 4), rel=0.05)
    f = plant.ftls[ftl]
    assert f["host_units"] + f["copied_units"] == pytest.approx(f["erased_blocks"] * 64, rel=0.001)


@pytest.mark.parametrize(("hot_writes", "of"), [(0, range(100, 4000)), (1 << 32, range(100))])
def test_random_writes_fall_on_hot_units_as_often_as_they_are_to(hot_writes: int, of: range) -> None:
    plant, ftl = plant_with(PageMapping(4000, 2, 16, 0.28), steady=False)
    before = places(plant, ftl)
    write_random(plant, ftl, 0, 300, 100, hot_writes)
    moved = {unit for unit, place in places(plant, ftl).items() if place != before.get(unit)}
    assert moved
    assert moved <= set(of)
