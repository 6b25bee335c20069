"""What physics excludes: each rule alone, on plain values."""

from typing import Any

import pytest

from tiersim.devices.sourced import flash_reasons, hdd_reasons, interface_bytes_per_s

US, MS, MB = 1_000, 1_000_000, 1_000_000
DRIVE = {
    "capacity": 960 * 10**9,
    "cell": "tlc",
    "read": 50 * US,
    "program": 600 * US,
    "erase": 5 * MS,
    "program_size": 65536,
    "dies": 32,
    "channel_rate": 1000 * MB,
    "link_rate": 6500 * MB,
    "controller_iops": 900_000,
    "read_latency": 5 * US,
    "interface": "NVMe PCIe 4.0 x4",
    "endurance": 10**15,
}
DISK = {
    "capacity": 300 * 10**9,
    "rpm": 15_000,
    "surfaces": 8,
    "cylinders": 50_000,
    "outer_rate": 200 * MB,
    "inner_rate": 120 * MB,
    "seek_single_cylinder": 300 * US,
    "seek_average": 3_500 * US,
    "seek_full_stroke": 7 * MS,
}


@pytest.mark.parametrize(
    ("interface", "mb_per_s"),
    [
        ("NVMe PCIe 4.0 x4", 7876.8),
        ("NVMe PCIe 3.0 x4", 3938.4),
        ("PCIe 1.1 x4", 1000),
        ("PCIe 2.0 x8", 4000),
        ("SATA 3 Gb/s", 300),
        ("SATA 6 Gb/s", 600),
        ("SAS 12 Gb/s", 1200),
        ("SAS 6 Gb/s x4", 2400),
        ("FC 8 Gb/s x8", 6400),
        ("SAS", None),
        ("", None),
        ("PCIe 9.0 x4", None),
    ],
)
def test_what_an_interface_carries(interface: str, mb_per_s: float | None) -> None:
    found = interface_bytes_per_s(interface)
    assert found == (None if mb_per_s is None else pytest.approx(mb_per_s * MB))


def test_a_drive_that_may_be() -> None:
    assert flash_reasons(DRIVE) == []
    assert flash_reasons({}) == []
    assert flash_reasons(dict.fromkeys(DRIVE)) == []


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (
            {"cell": "slc", "read": 2 * US},
            "read: 2 µs is below 3 µs: no flash cell is sensed so fast (slc); a write into a buffer may be",
        ),
        ({"read": 10 * US}, "read: 10 µs is below 20 µs"),
        ({"read": (10 * US, 60 * US)}, "read: 10 µs is below 20 µs"),
        ({"cell": "mlc", "read": 10 * US}, "read: 10 µs is below 20 µs"),
        ({"cell": "qlc", "read": 30 * US}, "read: 30 µs is below 40 µs"),
        ({"program": 20 * US, "read": 25 * US}, "program: 20 µs is below 50 µs"),
        ({"program": 60 * US, "read": 70 * US}, "program: 60 µs is shorter than read = 70 µs"),
        ({"erase": 500 * US}, "erase: 500 µs is shorter than program = 600 µs"),
        (
            {"link_rate": 9000 * MB},
            "link_rate: 9,000 MB/s is more than interface = 'NVMe PCIe 4.0 x4' carries, 7,877 MB/s",
        ),
        (
            {"interface": "SATA 6 Gb/s"},
            "link_rate: 6,500 MB/s is more than interface = 'SATA 6 Gb/s' carries, 600 MB/s",
        ),
        (
            {"controller_iops": 2_000_000},
            "controller_iops: 2,000,000 reads of 4 KiB a second are 8,192 MB/s, more than link_rate = 6,500 MB/s",
        ),
        (
            {"endurance": 10**18},
            "endurance: 1000 PB are 571 drive writes a day for five years; no drive was rated above 100",
        ),
        (
            {"cell": "slc", "read": 3 * US, "read_latency": 0, "channel_rate": 4000 * MB},
            "read_latency: with it a read of 4 KiB takes ",
        ),
        ({"cell": "3d-xpoint"}, "read: 50 µs is longer than whole reads of 3D XPoint take"),
    ],
)
def test_what_flash_cannot_be(changed: dict[str, Any], says: str) -> None:
    reasons = flash_reasons({**DRIVE, **changed})
    assert any(reason.startswith(says) for reason in reasons), reasons


def test_a_disk_that_may_be() -> None:
    assert hdd_reasons(DISK) == []


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"rpm": 20_000}, "rpm: 20,000 is more than the 15,000 of the fastest disks"),
        ({"seek_average": 8 * MS}, "seek_full_stroke: 7 ms is not longer than seek_average = 8 ms"),
        ({"seek_single_cylinder": 10 * US}, "seek_single_cylinder: 10 µs is no seek of a disk"),
        ({"seek_full_stroke": 300 * MS}, "seek_full_stroke: 300 ms is no seek of a disk"),
        ({"outer_rate": 900 * MB}, "outer_rate: 900 MB/s is more than the outermost track, "),
        ({"cylinders": 2_000}, "cylinders: 2,000 leave "),
    ],
)
def test_what_a_disk_cannot_be(changed: dict[str, Any], says: str) -> None:
    reasons = hdd_reasons({**DISK, **changed})
    assert any(reason.startswith(says) for reason in reasons), reasons
