"""A flash drive that plans its commands against its twin in plain Python, in both engines."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.plants import flash, slc_caches
from tests.test_device_twins import ALL, SEEDS, pick
from tests.twins.flash_planned import Planned
from tests.twins.stand_in import Built, agree, draw_commands
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.flash import Flash, add_flash
from tiersim.devices.ssd.flash_kernels import placed_die, sensing_ns
from tiersim.operations import FLUSH, READ, WRITE

pytestmark = pytest.mark.kernels


@st.composite
def drives(draw: st.DrawFn, *, is_client: bool = False) -> Flash:
    unit, planes = draw(pick(2048, 4096)), draw(pick(1, 2, 4))
    static = not is_client and draw(st.booleans())
    program = unit * (1 if static else draw(pick(1, 3, 8)))
    dies = draw(pick(1, 2, 8))
    chosen: dict[str, Any] = {
        "capacity": 1 << 26,
        "channels": draw(pick(*(count for count in (1, 2, 8) if dies % count == 0))),
        "dies": dies,
        "unit": unit,
        "planes": planes,
        "page": unit * planes * draw(pick(1, 2)),
        "spread": draw(pick(*(count for count in (1, 2, 8) if dies % count == 0))),
        "read": draw(pick((50_000,), (40_000, 60_000, 80_000))),
        "program": draw(pick(100_000, 1_300_000)),
        "program_size": program,
        "block": 8 * program,
        "suspend": draw(pick(None, 0, 30_000)),
        "allocation": "static" if static else "dynamic",
        "state": "fresh",
        "channel_rate": draw(pick(10_000_000, 200_000_000)),  # some have more to transfer than they can
        "buffer": program * draw(pick(0, 1, 16)),
        "buffer_rate": draw(pick(None, 50_000_000)),
        "power_loss_protection": draw(st.booleans()),
        "flush_interval": draw(pick(None, 2_000_000)),
        "interface": draw(pick(None, "SATA 6 Gb/s")),
        "link_rate": draw(pick(200_000_000, 400_000_000)),
        "queue_depth": draw(pick(1, 3, 8)),  # few enough that a channel keeps all its promises apart
    }
    if is_client or draw(st.booleans()):
        chosen["read_ahead"] = unit * draw(pick(1, 4, 32))
    if is_client or (not static and draw(st.booleans())):
        chosen |= slc_caches(draw, unit, program)
    return flash(**chosen)


@settings(max_examples=examples(45), deadline=None)
@given(seed=SEEDS, drive=drives(), apart_ns=pick(10_000, 100_000, 1_000_000), span=pick(1 << 17, 1 << 22))
def test_planned_flash(seed: int, drive: Flash, apart_ns: int, span: int) -> None:
    agree(plan(drive), draw_commands(seed, 120, span, (512, 8192, 8192, 20_480), ALL, apart_ns))


#: A client drive whose cache is full when a run begins, and which moves units out whenever it is idle.
FULL = flash(
    capacity=1 << 26,
    channels=2,
    dies=2,
    unit=4096,
    planes=1,
    page=4096,
    spread=1,
    read=(50_000,),
    program=1_300_000,
    program_size=32_768,
    block=262_144,
    state="fresh",
    buffer=131_072,
    power_loss_protection=False,
    queue_depth=8,
    read_ahead=16_384,
    slc_static=655_360,
    slc_program=100_000,
    slc_program_size=32_768,
    slc_full="direct",
    slc_idle=0,
    slc_used=655_360,
)

#: A drive of one die that reads four units ahead of a stream.
AHEAD = flash(
    capacity=1 << 26,
    channels=1,
    dies=1,
    unit=2048,
    planes=1,
    page=4096,
    spread=1,
    read=(50_000,),
    program=100_000,
    program_size=2048,
    block=16_384,
    allocation="dynamic",
    state="fresh",
    buffer=0,
    power_loss_protection=False,
    queue_depth=1,
    read_ahead=8192,
)


@settings(max_examples=examples(45), deadline=None)
@given(
    seed=SEEDS,
    drive=drives(is_client=True),
    apart_ns=pick(5_000, 30_000, 200_000),
    ops=pick((READ,), (READ, READ, READ, READ, WRITE), (WRITE,), (WRITE, WRITE, READ), (WRITE, FLUSH)),
)
@example(seed=1, drive=FULL, apart_ns=200_000, ops=(READ,))  # reads come while it moves units out
@example(seed=1, drive=FULL, apart_ns=200_000, ops=(WRITE, FLUSH))  # flushes find programs half filled
@example(seed=0, drive=AHEAD, apart_ns=200_000, ops=(READ,))  # a stream is read ahead once
def test_planned_client(seed: int, drive: Flash, apart_ns: int, ops: tuple[int, ...]) -> None:
    """Streams of reads that a drive reads ahead of, and writes that fill its cache."""
    units = draw_commands(seed, 120, 1 << 21, (4096, 8192), ops, apart_ns, 4096, 0.95)
    agree(plan(drive), units)


def plan(drive: Flash) -> Callable[[PlantBuilder], Built]:
    """How to build a drive, and its twin."""

    def build(builder: PlantBuilder) -> Built:
        station = add_flash(builder, drive, "drive")
        plant = builder.build(1)  # where units lie, and which page of its cells one is, is drawn
        twin = Planned(
            drive,
            lambda unit: int(placed_die(plant, 0, unit)),
            lambda die, page: int(sensing_ns(plant, 0, die, page)),
        )
        return station, {station: twin}

    return build
