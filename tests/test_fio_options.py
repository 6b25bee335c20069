"""What fio's options mean."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tiersim.traces.readers.fio_options import OptionError, setting

#: What fio 3.33 says the sizes of reads and writes are.
SIZES = {
    "4k": (4096, 4096), "8Ki": (8192, 8192), "4KiB": (4000, 4000), "4kb": (4096, 4096), "8192": (8192, 8192),
    "1m": (1 << 20, 1 << 20), "0x1000": (4096, 4096), "8k,16k": (8192, 16384), "8k,": (8192, 4096), ",8k": (4096, 8192),
    "16k,8k,4k": (16384, 8192), "1M": (1 << 20, 1 << 20), "2mib": (2_000_000, 2_000_000), "16K": (16384, 16384),
}  # fmt: skip


@pytest.mark.parametrize(("text", "sizes"), SIZES.items())
def test_block_sizes(text: str, sizes: tuple[int, int]) -> None:
    directions = setting({"rw": "randrw", "bs": text}).directions
    assert (directions["read"].block_bytes, directions["write"].block_bytes) == sizes


def test_kb_base_turns_units_round() -> None:
    assert setting({"bs": "8k", "kb_base": "1000"}).directions["read"].block_bytes == 8000
    assert setting({"bs": "8KiB", "kb_base": "1000"}).directions["read"].block_bytes == 8192


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("fio"), reason="fio is not installed")
@pytest.mark.parametrize("text", ["8Ki", "4KiB", "4kb", "0x1000", "8k,16k", "8k,", ",8k", "16k,8k,4k", "2mib"])
def test_block_sizes_are_those_of_fio(tmp_path: Path, text: str) -> None:
    common = ["--ioengine=null", "--size=64m", "--number_ios=3", f"--bs={text}"]
    command = ["fio", "--output-format=json", *common, "--name=read", "--rw=read", "--name=write", "--rw=write"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    reads, writes = json.loads(done.stdout)["jobs"]
    found = (reads["read"]["io_bytes"] / 3, writes["write"]["io_bytes"] / 3)
    assert found == SIZES[text]


@pytest.mark.parametrize(
    ("rw", "pattern", "share"),
    [
        ("read", "sequential", 1.0),
        ("write", "sequential", 0.0),
        ("randread", "random", 1.0),
        ("randwrite", "random", 0.0),
        ("rw", "sequential", 0.5),
        ("readwrite", "sequential", 0.5),
        ("randrw", "random", 0.5),
    ],
)
def test_kinds(rw: str, pattern: str, share: float) -> None:
    for key in ("rw", "readwrite"):
        found = setting({key: rw})
        assert (found.pattern, found.read_share) == (pattern, share)


def test_the_share_of_reads() -> None:
    assert setting({"rw": "randrw", "rwmixread": "70"}).read_share == 0.7
    assert setting({"rw": "randrw", "rwmixwrite": "25"}).read_share == 0.75
    assert setting({"rw": "randrw", "rwmixread": "70", "rwmixwrite": "60"}).read_share == pytest.approx(0.4)
    assert setting({"rw": "randread", "rwmixread": "70"}).read_share == 1.0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (0, None)),
        ({"fsync": "1"}, (1, "fsync")),
        ({"fdatasync": "32"}, (32, "fdatasync")),
        ({"fsync": "0", "fdatasync": "1"}, (1, "fdatasync")),
        ({"sync": "1"}, (1, "O_SYNC")),
        ({"sync": "dsync"}, (1, "O_DSYNC")),
        ({"sync": "0"}, (0, None)),
        ({"sync": "none"}, (0, None)),
        ({"rw": "randread", "fsync": "1"}, (0, None)),  # nothing is written
    ],
)
def test_how_writes_are_made_durable(options: dict[str, str], expected: tuple[int, str | None]) -> None:
    found = setting({"rw": "write", **options})
    assert (found.sync_every, found.sync) == expected


@pytest.mark.parametrize(
    ("options", "reads", "writes"),
    [
        ({}, None, None),
        ({"rate_iops": "1000"}, 1000, 1000),
        ({"rate_iops": "700,300"}, 700, 300),
        ({"rate_iops": ",300"}, None, 300),
        ({"rate_iops": "1k"}, 1024, 1024),
        ({"rate": "8m"}, 1024, 1024),
        ({"rate": "8m", "rate_iops": "100"}, 100, 100),
        ({"rate_iops": "0"}, None, None),
    ],
)
def test_rates(options: dict[str, str], reads: float | None, writes: float | None) -> None:
    found = setting({"rw": "randrw", "bs": "8k", **options}).directions
    assert (found["read"].rate_limit_iops, found["write"].rate_limit_iops) == (reads, writes)


def test_defaults_are_those_of_fio() -> None:
    found = setting({"name": "a"})
    assert (found.pattern, found.iodepth, found.jobs, found.direct, found.engine) == ("sequential", 1, 1, False, None)
    assert found.directions["read"].block_bytes == 4096
    assert setting({"buffered": "0"}).direct is True
    assert setting({"buffered": "1"}).direct is False


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bs": "4k-8k"}, "bs=4k-8k is a range"),
        ({"bsrange": "4k-8k"}, "bsrange=4k-8k mixes block sizes"),
        ({"bs": "4.5k"}, "bs=4.5k is not a whole number"),
        ({"bs": "big"}, "bs=big is not"),
        ({"bs": "0"}, "bs=0 is not the size of a request"),
        ({"bs": "9999p"}, "bs=9999p is not the size of a request"),
        ({"rw": "trimwrite"}, "rw=trimwrite trims"),
        ({"rw": "sideways"}, "rw=sideways is not known"),
        ({"iodepth": "0"}, "iodepth=0 is not 1 to"),
        ({"iodepth": "many"}, "iodepth=many is not a whole number"),
        ({"numjobs": "9999999999"}, "numjobs=9999999999 is not 1 to"),
        ({"rw": "rw", "rwmixread": "170"}, "rwmixread=170 is more than 100 %"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError) as error:
        setting(options)
    assert str(error.value).startswith(message)
