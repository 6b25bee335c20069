"""Write amplification of random overwrites: published equations against the mapped flash translation layer, unit by
unit.
"""

from collections.abc import Iterator

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.ftl import Collection, PageMapping, add_ftl
from tiersim.devices.ssd.ftl_kernels import write_unit
from tiersim.devices.station_records import Plant
from tiersim.kernel import kernel
from tiersim.random_numbers import RANDOM_WRITES, random_below, random_bits
from tiersim.scenarios.validation.claims import Claim, Experiment

#: What the equations give, by over-provisioning, for LRU cleaning and for greedy cleaning of blocks of so many units.
PUBLISHED: dict[float, dict[tuple[Collection, int], float]] = {
    spare: dict(zip([("lru", 256), *(("greedy", units) for units in (64, 128, 256, 1024))], values, strict=True))
    for spare, values in {
        0.07: (7.817, 7.010, 7.392, 7.597, 7.761),
        0.12: (4.846, 4.531, 4.683, 4.763, 4.825),
        0.20: (3.188, 3.053, 3.119, 3.153, 3.179),
        0.28: (2.481, 2.403, 2.441, 2.461, 2.476),
        0.30: (2.364, 2.293, 2.328, 2.346, 2.360),
        0.50: (1.716, 1.681, 1.698, 1.707, 1.714),
        1.00: (1.255, 1.239, 1.247, 1.251, 1.254),
    }.items()
}
#: Greedy cleaning, 256 units a block, one stream of writes: (hot share of the units, of the writes), by
#: over-provisioning.
HOT_AND_COLD: dict[tuple[float, float], dict[float, float]] = {
    (0.2, 0.8): {0.07: 7.92, 0.12: 5.11, 0.28: 2.80},
    (0.1, 0.9): {0.07: 8.63, 0.12: 5.75, 0.28: 3.28},
}
_DIES, _BLOCKS = 4, 512  # of each die
UNIFORM = (1.0, 1.0)


@kernel
def write_random(p: Plant, ftl: int, first: int, count: int, hot_units: int, hot_writes: int) -> None:
    """Write units at random, over all dies in turn: *hot_writes* of 2^32 to the first *hot_units*, the others
    elsewhere.
    """
    f = p.ftls[ftl]
    cold_units = f["logical_units"] - hot_units
    for number in range(first, first + count):
        if random_bits(p.seed[0], RANDOM_WRITES, ftl, 2 * number) < hot_writes:
            logical = random_below(hot_units, p.seed[0], RANDOM_WRITES, ftl, 2 * number + 1)
        else:
            logical = hot_units + random_below(cold_units, p.seed[0], RANDOM_WRITES, ftl, 2 * number + 1)
        write_unit(p, ftl, number % f["dies"], logical)


def exact_mapping(
    collection: Collection, over_provisioning: float, block_units: int, dies: int = _DIES, blocks: int = _BLOCKS
) -> PageMapping:
    """A drive whose blocks are whole: *blocks* of each die, but for the one that is being filled."""
    units = int(dies * blocks * block_units / (1 + over_provisioning))
    return PageMapping(units, dies, block_units, over_provisioning, collection)


def mapped(
    mapping: PageMapping, settle: float, measure: float, hot: tuple[float, float] = UNIFORM, *, steady: bool = True
) -> float:
    """Write amplification of random overwrites; *settle* and *measure* are multiples of the drive's units."""
    builder = PlantBuilder(1)
    ftl = add_ftl(builder, mapping, steady=steady)
    plant = builder.build()
    settling, measured = round(settle * mapping.units), round(measure * mapping.units)
    hot_units, hot_writes = round(hot[0] * mapping.units), round(hot[1] * 2**32)
    write_random(plant, ftl, 0, settling, hot_units, hot_writes)
    before = int(plant.ftls[ftl]["copied_units"])
    write_random(plant, ftl, settling, measured, hot_units, hot_writes)
    return 1 + (int(plant.ftls[ftl]["copied_units"]) - before) / measured


def claims() -> Iterator[Claim]:
    """Every figure; the steady state of uniform writes is where the drive starts, that of others has to settle."""
    for spare, by_collection in PUBLISHED.items():
        for (collection, units), published in by_collection.items():
            found = mapped(exact_mapping(collection, spare, units), 0.5, 2)
            which = f"greedy, {units} units a block" if collection == "greedy" else "LRU"
            yield Claim(f"{which}, {spare:.0%} spare", "writes/write", published, found, 2)
    for hot, by_spare in HOT_AND_COLD.items():
        for spare, published in by_spare.items():
            found = mapped(exact_mapping("greedy", spare, 256), 8, 4, hot)
            what = f"{hot[0]:.0%} of the units take {hot[1]:.0%} of the writes, {spare:.0%} spare"
            yield Claim(what, "writes/write", published, found, 3)


def experiment() -> Experiment:
    """Uniform writes within 2 %, hot and cold ones in one stream within 3 %."""
    return Experiment(
        "write-amplification",
        "Write amplification of random overwrites of a full drive, page-mapped",
        "P. Desnoyers, SYSTOR 2012, and B. Van Houdt, SIGMETRICS 2013 (values of their equations); hot and cold: a"
        " separate simulation",
        "nothing",
        tuple(claims()),
    )
