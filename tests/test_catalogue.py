"""The catalogue against what makers and others say of the drives in it, by closed forms that no kernel shares."""

from collections.abc import Callable
from math import ceil
from pathlib import Path

import pytest

from tiersim.devices import catalogue
from tiersim.devices.catalogue import kinds, load_device, names, schema
from tiersim.devices.hdd.disk_drive import Hdd
from tiersim.devices.sourced import flash_reasons, hdd_reasons, interface_bytes_per_s
from tiersim.devices.ssd.flash import Flash
from tiersim.errors import ScenarioError
from tiersim.units import NS_PER_S

#: What is published of each drive; the source of each figure stands in its file. Times in µs of a read alone of so many
#: bytes, reads a second of so many bytes at random, writes a second of 4 KiB at random for long, MB/s in order.
PUBLISHED = {
    "crucial-t500-2000": {"reads": (1_180_000, 4096), "read MB/s": 7400, "write MB/s": 7000},
    "fusion-io-iodrive-160-slc": {"read": (117, 16384), "reads": (100_000, 4096), "read MB/s": 700, "write MB/s": 600},
    "fusion-io-iodrive-320-mlc": {
        "reads": (70_000, 4096), "read MB/s": 700, "write MB/s": 524.3, "writes": 29_440,
    },
    "fusion-io-iodrive-duo-320-slc": {"reads": (260_000, 4096), "read MB/s": 1500, "write MB/s": 1500},
    "fusion-io-iodrive-duo-640-mlc": {"reads": (186_000, 4096), "read MB/s": 1500, "write MB/s": 1400},
    "fusion-io-iodrive2-400-slc": {"read": (47, 512), "reads": (190_000, 512), "read MB/s": 1400, "write MB/s": 1300},
    "fusion-io-iodrive2-785": {"read": (68, 512), "reads": (141_000, 512), "read MB/s": 1500, "write MB/s": 1100},
    "intel-750-400": {"reads": (430_000, 4096), "read MB/s": 2200, "write MB/s": 900},
    "intel-dc-s3700-100": {"reads": (75_000, 4096), "read MB/s": 500, "write MB/s": 200},
    "intel-optane-p4800x-375": {
        "read": (8.9, 4096), "reads": (585_000, 4096), "read MB/s": 2400, "write MB/s": 2000, "writes": 500_000,
    },
    "intel-optane-p5800x-800": {"read": (6, 4096), "reads": (1_500_000, 4096), "read MB/s": 7200, "write MB/s": 5400},
    "intel-p3700-800": {"read": (77.9, 4096), "reads": (450_000, 4096), "read MB/s": 2800, "write MB/s": 1800},
    "intel-x25e-64": {"read": (75, 4096), "reads": (35_000, 4096), "read MB/s": 250, "write MB/s": 170, "writes": 3300},
    "kioxia-cm7-r-3840": {"reads": (2_700_000, 4096), "read MB/s": 14_000, "write MB/s": 6750, "writes": 310_000},
    "micron-7450-max-800": {
        "read": (80, 4096), "reads": (530_000, 4096), "read MB/s": 6800, "write MB/s": 1400, "writes": 145_000,
    },
    "micron-7450-pro-960": {
        "read": (80, 4096), "reads": (530_000, 4096), "read MB/s": 6800, "write MB/s": 1400, "writes": 85_000,
    },
    "micron-9100-max-2400": {
        "read": (107.7, 4096), "reads": (750_000, 4096), "read MB/s": 3200, "write MB/s": 2200, "writes": 300_000,
    },
    "micron-p320h-700": {
        "read": (47, 512), "reads": (785_000, 4096), "read MB/s": 3200, "write MB/s": 1900, "writes": 205_000,
    },
    "micron-p410m-400": {"reads": (50_000, 4096), "read MB/s": 400, "write MB/s": 340, "writes": 30_000},
    "samsung-990-pro-2000": {"read": (45.7, 4096), "reads": (1_400_000, 4096), "read MB/s": 7450, "write MB/s": 6900},
    "samsung-pm1733-3840": {"reads": (1_500_000, 4096), "read MB/s": 7000, "write MB/s": 3800, "writes": 135_000},
    "samsung-pm9a3-7680": {"reads": (900_000, 4096), "read MB/s": 6500, "write MB/s": 3500, "writes": 200_000},
    "samsung-pm9a3-960-m2": {"reads": (580_000, 4096), "read MB/s": 4500, "write MB/s": 1484.7, "writes": 70_000},
    "sk-hynix-pe8110-960": {
        "read": (75, 4096), "reads": (900_000, 4096), "read MB/s": 6500, "write MB/s": 1700, "writes": 70_000,
    },
    "solidigm-p5520-3840": {"read": (75, 4096), "read MB/s": 6500, "write MB/s": 4377.8, "writes": 228_000},
    "violin-6264": {"read": (500, 4096), "reads": (750_000, 4096), "read MB/s": 4000},
    "violin-6616": {"read": (250, 4096), "reads": (1_000_000, 4096), "read MB/s": 4000},
}  # fmt: skip
#: Drives of which nothing is published but what they are: all of their figures are assumed.
UNPUBLISHED = {"micron-s630dc-800", "micron-s650dc-800", "samsung-pm981a-256"}


def _flash() -> list[str]:
    return [name for name in names() if name in {*PUBLISHED, *UNPUBLISHED}]


def _senses(drive: Flash, length_bytes: int) -> tuple[int, float]:
    """How many pages a read of random data senses, and how long one of them is carried."""
    units = ceil(length_bytes / drive.unit)
    senses = min(units, drive.spread)
    return senses, ceil(units / senses) * drive.unit * NS_PER_S / drive.channel_rate


def _alone_us(drive: Flash, length_bytes: int) -> float:
    _, carried_ns = _senses(drive, length_bytes)
    before_ns = NS_PER_S / drive.controller_iops + (drive.host_cpu or 0) + drive.read_latency
    return (before_ns + drive.read_mean_ns + carried_ns + length_bytes * NS_PER_S / drive.link_rate) / 1e3


def _reads_per_s(drive: Flash, length_bytes: int) -> float:
    senses, carried_ns = _senses(drive, length_bytes)
    return min(
        drive.controller_iops,
        drive.dies * NS_PER_S / senses / (drive.read_mean_ns + carried_ns),
        drive.channels * NS_PER_S / senses / carried_ns,
        drive.link_rate / length_bytes,
    )


def _read_rate(drive: Flash) -> float:
    page_ns = drive.read_mean_ns + drive.page * NS_PER_S / drive.channel_rate
    dies = drive.dies * drive.page * NS_PER_S / page_ns
    return min(drive.link_rate, drive.channels * drive.channel_rate, dies) / 1e6


def _write_rate(drive: Flash) -> float:
    """In order, where nothing has to be collected."""
    program_ns = drive.program + drive.program_size * NS_PER_S / drive.channel_rate
    dies = drive.dies * drive.program_size * NS_PER_S / program_ns
    rates = (drive.link_rate, drive.channels * drive.channel_rate, dies, drive.buffer_rate or drive.link_rate)
    return min(rates) / 1e6


def _writes_per_s(drive: Flash) -> float:
    """4 KiB at random for long: each brings so many copies and so much of an erasure with it."""
    program_ns = drive.program * drive.unit / drive.program_size + drive.unit * NS_PER_S / drive.channel_rate
    more = drive.write_amplification - 1 if drive.state == "steady" else 0
    erased = 0.0 if drive.state == "fresh" else drive.write_amplification * drive.unit / drive.block
    unit_ns = program_ns + more * drive.copy_ns + erased * drive.erase
    buffered = (drive.buffer_rate or drive.link_rate) / drive.unit
    return min(drive.controller_iops, drive.dies * NS_PER_S / unit_ns, drive.link_rate / drive.unit, buffered)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_drive_agrees_with_what_is_published_of_it(name: str) -> None:
    drive = load_device(name)
    assert isinstance(drive, Flash)
    modelled: dict[str, Callable[..., float]] = {
        "read": lambda length: _alone_us(drive, length),
        "reads": lambda length: _reads_per_s(drive, length),
        "read MB/s": lambda: _read_rate(drive),
        "write MB/s": lambda: _write_rate(drive),
        "writes": lambda: _writes_per_s(drive),
    }
    for figure, published in PUBLISHED[name].items():
        value, *length = published if isinstance(published, tuple) else (published,)
        assert modelled[figure](*length) == pytest.approx(value, rel=0.15), figure


def test_dies_of_a_known_size_hold_what_a_drive_has() -> None:
    drive = load_device("intel-750-400")
    assert isinstance(drive, Flash)
    assert drive.dies * (16 << 30) == pytest.approx(drive.capacity * (1 + drive.over_provisioning), rel=0.001)


def _mixed_per_s(drive: Flash, writes: float) -> float:
    """IOs of a unit each that the buses carry for long, of which a share *writes*: a copy passes its bus twice."""
    passes = 1 - writes + writes * (1 + 2 * (drive.write_amplification - 1))
    return min(drive.controller_iops, drive.channels * drive.channel_rate / drive.unit / passes)


def test_an_array_has_the_fewest_buses_that_carry_its_mixed_ios() -> None:
    drive = load_device("violin-6264")
    assert isinstance(drive, Flash)
    assert _mixed_per_s(drive, 0.5) == pytest.approx(750_000)
    one_bus = drive.model_copy(update={"channels": 64})
    assert _mixed_per_s(one_bus, 0.5) < 0.8 * 750_000


def test_arrays_have_the_room_and_the_spare_space_of_the_same_format() -> None:
    """What a format leaves, and its spare space, are the flash less parity and spare modules, as many in each array."""
    shares = []
    for name, flash_bytes in (("violin-6264", 64 << 40), ("violin-6616", 16 << 40)):
        drive = load_device(name)
        assert isinstance(drive, Flash)
        shares.append(drive.capacity * (1 + drive.over_provisioning) / flash_bytes)
    assert shares[0] == pytest.approx(shares[1], rel=0.05)


def test_there_are_enough_and_every_drive_is_looked_at() -> None:
    assert len(names()) >= 30
    flash = {name for name in names() if load_device(name).kind == "flash"}
    assert flash == {*PUBLISHED, *UNPUBLISHED}


@pytest.mark.parametrize("name", _flash())
def test_no_drive_of_the_catalogue_is_excluded_by_physics(name: str) -> None:
    drive = load_device(name)
    assert isinstance(drive, Flash)
    assert flash_reasons(drive.model_dump()) == []
    assert interface_bytes_per_s(str(drive.interface)) is not None
    writes = PUBLISHED.get(name, {}).get("writes")
    if writes is not None and drive.cell != "3d-xpoint":
        assert isinstance(writes, int)
        all_dies_bytes_per_s = drive.dies * drive.program_size * NS_PER_S / drive.program
        assert writes * 4096 <= all_dies_bytes_per_s


@pytest.mark.parametrize("name", [name for name in names() if name.startswith("seagate")])
def test_no_disk_of_the_catalogue_is_excluded_by_physics(name: str) -> None:
    disk = load_device(name)
    assert isinstance(disk, Hdd)
    assert hdd_reasons(disk.model_dump()) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        (
            "seagate-cheetah-15k7-300",
            "\nrpm = 15000\n",
            "\nrpm = 20000\n",
            "rpm: 20,000 is more than the 15,000 of the fastest disks",
        ),
        ("intel-optane-p4800x-375", "\nprice = 1520\n", "\n", "price_date: a price needs the date that it is of"),
        ("intel-optane-p4800x-375", "\nprice = 1520\n", "\nprice = -1\n", "price"),
        ("intel-x25e-64", "\nreleased = 2008\n", "\nreleased = 208\n", "released"),
    ],
)
def test_a_file_with_a_mistake_is_refused(tmp_path: Path, name: str, old: str, new: str, says: str) -> None:
    text = (Path(catalogue.__file__).parent / "catalogue" / f"{name}.toml").read_text()
    assert old in text
    (tmp_path / "device.toml").write_text(text.replace(old, new))
    with pytest.raises(ScenarioError, match=says):
        load_device("device.toml", beside=tmp_path)


def test_what_a_buyer_asks_is_written_with_its_unit() -> None:
    drive = load_device("intel-optane-p4800x-375")
    assert drive.text_of("price") == "1,520 USD"
    assert drive.text_of("released") == "2017"
    assert drive.text_of("endurance").endswith(" PB")


@pytest.mark.parametrize("kind", kinds())
def test_the_schema_of_a_kind_has_its_keys(kind: str) -> None:
    found = schema(kind)
    assert found["properties"]["kind"]["const"] == kind
    assert found["additionalProperties"] is False
    assert {"interface", "price", "sources"} <= found["properties"].keys()


def test_there_is_no_schema_of_an_unknown_kind() -> None:
    with pytest.raises(ScenarioError, match=r"'flsh' is not one of hdd, .*; did you mean 'flash'"):
        schema("flsh")
