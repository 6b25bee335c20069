"""How fast a page-mapped drive is written to at random, collection included."""

from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.rounds import rounds
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.ftl import PageMapping, add_ftl
from tiersim.devices.station_records import Plant
from tiersim.scenarios.validation.write_amplification import write_random

UNITS = 4 << 20  # 16 GiB in units of 4 KiB: neither map fits into a core's own cache


def test_random_writes_of_units(benchmark: BenchmarkFixture) -> None:
    """Units of the host a second, on a full drive with 28 % spare: each makes the drive write 2.5."""

    def drive() -> tuple[tuple[Plant, int, int, int, int, int], dict[str, int]]:
        builder = PlantBuilder(1)
        ftl = add_ftl(builder, PageMapping(UNITS, 16, 256, 0.28), steady=True)
        return (builder.build(), ftl, 0, UNITS, UNITS, 2**32), {}

    write_random(*drive()[0])
    benchmark.pedantic(write_random, setup=drive, rounds=rounds(3))
    benchmark.extra_info |= {"units": UNITS}
