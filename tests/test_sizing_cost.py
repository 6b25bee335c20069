"""Candidates files, and bills reckoned by hand."""

from pathlib import Path

import pytest

from tiersim.errors import ScenarioError
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.sizing.candidates import (
    ANY_NUMBER,
    Candidate,
    capacity_bytes,
    combinations,
    of_names,
    read_candidates,
    survived_failures,
)

DISK, SSD = "seagate-cheetah-15k7-300", "micron-s650dc-800"
FULL = f"""
currency = "USD"
price_date = "2016-03"
years = 4

[host]
bays = 4
price = 6000
power = 200

[enclosure]
bays = 10
price = 2500
power = 100

[memory]
price_per_gib = 8
pool_share = 0.75

[licences]
per_core = 1000
per_core_year = 240

[power]
price_per_kwh = 0.10
overhead = 1.5

[prices.{DISK}]
power = 15

[[candidates]]
device = "{DISK}"
count = 16
layout = "raid10"
memory = "64 GiB"
set = {{ "host.cores" = 8 }}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "candidates.toml"
    path.write_text(text)
    return path


def listed(folder: Path, text: str, base: str = DISK) -> list[Candidate]:
    return combinations(read_candidates(write(folder, text)), base, (), Path())


def test_a_bill_by_hand(tmp_path: Path) -> None:
    (one,) = listed(tmp_path, FULL)
    cost = one.cost
    assert cost is not None
    # 16 drives, 4 of them in the server: 12 in two enclosures of 10; 64 GiB; 8 cores
    assert cost.capex == 16 * 199 + 6000 + 2 * 2500 + 64 * 8 + 8 * 1000
    watts = 16 * 15 + 200 + 2 * 100
    assert cost.power_w == watts
    energy = watts / 1000 * 1.5 * (365.25 * 24 / 12) * 0.10
    assert cost.monthly == pytest.approx(energy + 8 * 240 / 12)
    assert cost.total == pytest.approx((cost.capex or 0) + 48 * (cost.monthly or 0))
    assert cost.unknown == ()
    assert cost.price_date == "2016, 2016-03"
    drives = next(part for part in cost.parts if part.what == DISK)
    assert (drives.count, drives.each, drives.per) == (16, 199, "once")
    assert drives.source.startswith("document: Micron technical brief")
    assert all(part.source for part in cost.parts)
    assert one.settings["engine.buffer_pool"] == "49152 MiB"
    (one,) = listed(tmp_path, FULL.replace('memory = "64 GiB"\n', ""))
    assert one.cost is not None
    assert one.cost.unknown == ("memory of the host",)
    assert one.cost.total is None  # memory that nobody described is not free


def test_the_founding_documents_arrays_cost_what_it_says() -> None:
    for device, count, dollars in ((DISK, 16, 3184), (SSD, 4, 5048)):
        found = combinations(of_names([device]), device, (), Path())
        (one,) = [candidate for candidate in found if candidate.count == count and "raid10" in candidate.name]
        assert one.cost is not None
        assert one.cost.total == dollars


def test_what_nobody_prices_is_not_made_up(tmp_path: Path) -> None:
    text = f'[power]\nprice_per_kwh = 0.1\n[[candidates]]\ndevice = ["intel-p3700-800", "{DISK}"]\n'
    flash, disk = listed(tmp_path, text)
    assert flash.cost is not None
    assert flash.cost.capex is None
    assert flash.cost.total is None
    assert flash.cost.unknown == ("price of intel-p3700-800",)
    assert disk.cost is not None
    assert disk.cost.capex == 199
    assert disk.cost.monthly is None
    assert disk.cost.total is None  # else a drive whose power nobody printed would be the cheapest
    assert disk.cost.unknown == (f"power of {DISK}",)
    assert disk.cost.power_w is None


def test_the_catalogues_prices_are_of_their_currency(tmp_path: Path) -> None:
    (one,) = listed(tmp_path, f'currency = "EUR"\n[[candidates]]\ndevice = "{DISK}"\n')
    assert one.cost is not None
    assert one.cost.total is None
    (own,) = listed(
        tmp_path,
        f'currency = "EUR"\nprice_date = "2026"\n[prices.{DISK}]\nprice = 50\n[[candidates]]\ndevice = "{DISK}"\n',
    )
    assert own.cost is not None
    assert own.cost.total == 50
    assert own.cost.currency == "EUR"


def test_a_cloud_volume_is_rented(tmp_path: Path) -> None:
    text = """
[[candidates]]
device = "aws-io2"
set = { "volumes.data.size" = ["1 TiB"], "volumes.data.iops" = [10000, 20000] }
[[candidates]]
device = "aws-gp3"
set = { "volumes.data.size" = "500 GiB", "volumes.data.iops" = [3000, 6000] }
"""
    io2, dearer, gp3, provisioned = listed(tmp_path, text)
    assert io2.cost is not None
    assert io2.cost.capex == 0
    assert io2.cost.monthly == pytest.approx(1024 * 0.125 + 10_000 * 0.065)
    assert dearer.cost is not None
    assert dearer.cost.monthly == pytest.approx(1024 * 0.125 + 20_000 * 0.065)
    (most,) = listed(
        tmp_path, text.partition('[[candidates]]\ndevice = "aws-gp3"')[0].replace("[10000, 20000]", "100000")
    )
    assert most.cost is not None  # 32,000 at the first price, as many at the second, the rest at the third
    of_iops = 32_000 * 0.065 + 32_000 * 0.046 + 36_000 * 0.032
    assert most.cost.monthly == pytest.approx(1024 * 0.125 + of_iops)
    assert sum(part.count for part in most.cost.parts if "IOPS" in part.what) == 100_000
    assert gp3.cost is not None
    assert gp3.cost.monthly == pytest.approx(500 * 0.08)
    assert provisioned.cost is not None  # what the catalogue does not price
    assert provisioned.cost.monthly is None
    assert io2.survives == ANY_NUMBER
    priced = f'price_date = "2026"\n[prices.aws-gp3]\nprice_per_iops_month = 0.005\n{text}'
    *_, included, beyond = (one.cost for one in listed(tmp_path, priced))
    assert included is not None
    assert included.monthly == pytest.approx(500 * 0.08)  # 3,000 come with the volume
    assert beyond is not None
    assert beyond.monthly == pytest.approx(500 * 0.08 + 3_000 * 0.005)
    faster = priced.replace("[3000, 6000] }", '[6000], "volumes.data.throughput" = "375 MiB/s" }')
    unpriced = listed(tmp_path, faster)[-1].cost
    assert unpriced is not None
    assert unpriced.unknown == ("price of aws-gp3, provisioned MiB/s",)
    faster = faster.replace("price_per_iops_month", "price_per_mib_s_month = 0.04\nprice_per_iops_month")
    whole = listed(tmp_path, faster)[-1].cost
    assert whole is not None
    assert whole.monthly == pytest.approx(500 * 0.08 + 3_000 * 0.005 + 250 * 0.04)


def test_a_cloud_volume_is_paid_by_its_size(tmp_path: Path) -> None:
    """The largest that is sold, 64 TiB, would be 5,243 USD a month."""
    (one,) = listed(tmp_path, '[[candidates]]\ndevice = "aws-gp3"\n')
    assert one.cost is None
    assert one.problem is not None
    assert one.problem.startswith("volumes.data.size: is missing")


@pytest.mark.parametrize(("size", "billed_gib"), [("100 GiB", 128), ("128 GiB", 128), ("129 GiB", 256), ("1 GiB", 4)])
def test_a_volume_that_is_sold_in_steps_costs_as_much_as_its_step(tmp_path: Path, size: str, billed_gib: int) -> None:
    text = f"""
price_date = "2026"
[prices.azure-premium]
price_per_gib_month = 0.15
[[candidates]]
device = "azure-premium"
set = {{ "volumes.data.size" = "{size}" }}
"""
    (one,) = listed(tmp_path, text)
    assert one.cost is not None
    assert one.cost.monthly == pytest.approx(billed_gib * 0.15)
    (gp2,) = listed(tmp_path, f'[[candidates]]\ndevice = "aws-gp2"\nset = {{ "volumes.data.size" = "{size}" }}\n')
    assert gp2.cost is not None  # which has steps of throughput, and is paid by the GiB
    assert gp2.cost.monthly == pytest.approx(int(size.removesuffix(" GiB")) * 0.10)


def test_counts_go_with_their_layouts(tmp_path: Path) -> None:
    text = f'[[candidates]]\ndevice = "{SSD}"\ncount = [1, 2, 3, 4]\nlayout = ["single", "raid10", "raid5"]\n'
    names = [one.name for one in listed(tmp_path, text)]
    assert names == [f"1 × {SSD}", f"2 × {SSD} raid10", f"3 × {SSD} raid5", f"4 × {SSD} raid10", f"4 × {SSD} raid5"]


def test_families_differ_in_size_alone(tmp_path: Path) -> None:
    text = f"""
[memory]
price_per_gib = 8
pool_share = 0.5
[[candidates]]
device = "{SSD}"
count = [2, 4]
layout = "raid10"
memory = ["64 GiB", "128 GiB"]
set = {{ "volumes.data.stripe" = ["64 KiB", "256 KiB"] }}
"""
    found = listed(tmp_path, 'price_date = "2026"\n' + text)
    assert len(found) == 8
    assert len({one.family for one in found}) == 2
    assert {(one.count, one.memory_bytes >> 30) for one in found} == {(2, 64), (2, 128), (4, 64), (4, 128)}


def test_a_placement_is_laid_over_the_scenario(tmp_path: Path) -> None:
    text = f"""
[placements.together]
[placements.own-log]
volumes.log = {{ device = "{SSD}", count = 2, layout = "raid1" }}
placement = {{ default = "data", log = "log" }}
[[candidates]]
device = "{DISK}"
count = 8
placement = ["together", "own-log"]
"""
    together, own = listed(tmp_path, text)
    assert together.cost is not None
    assert own.cost is not None
    assert (own.cost.capex or 0) - (together.cost.capex or 0) == 2 * 1262
    assert own.scenario is not None
    assert own.scenario.model.placement["log"] == "log"
    assert capacity_bytes(own.scenario) == own.scenario.homes["data"].capacity_bytes
    assert own.survives == 1


@pytest.mark.parametrize(
    ("layout", "count", "survives"),
    [("raid0", 4, 0), ("raid1", 3, 2), ("raid10", 4, 1), ("raid5", 4, 1), ("raid6", 6, 2)],
)
def test_how_many_drives_may_fail(layout: str, count: int, survives: int) -> None:
    scenario = load_scenario(SSD, [f"volumes.data.count={count}", f"volumes.data.layout={layout}"])
    assert survived_failures(scenario, Path()) == survives


def test_hosts_that_differ_have_a_price_wherever_they_are_written(tmp_path: Path) -> None:
    """Placements may write them, too; a list that writes what the scenario has already differs in nothing."""
    placements = "[placements.small]\nhost.cores = 8\n[placements.big]\nhost.cores = 32\n"
    with pytest.raises(ScenarioError, match=r"host\.cores: candidates differ in it, and cost the same"):
        listed(tmp_path, f'{placements}[[candidates]]\ndevice = "{SSD}"\nplacement = ["small", "big"]\n')
    pools = f'[[candidates]]\ndevice = "{SSD}"\nset = {{ "engine.buffer_pool" = ["8 GiB", "64 GiB"] }}\n'
    with pytest.raises(ScenarioError, match=r"memory: candidates differ in it"):
        listed(tmp_path, pools)
    one = f'[[candidates]]\ndevice = "{SSD}"\nset = {{ "host.memory" = "65536 MiB" }}\n'
    assert len(listed(tmp_path, one + one.replace("65536 MiB", "64 GiB").replace(SSD, DISK))) == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[[candidates]]\ndevice = "micron-s650dc-80"\n', "did you mean 'micron-s650dc-800'"),
        (f'[[candidates]]\ndevice = "{SSD}"\nlayuot = "raid5"\n', "unknown key 'layuot'; did you mean 'layout'"),
        (f'[[candidates]]\ndevice = "{SSD}"\nplacement = "log"\n', "'log' is not one of the placements"),
        (f'[[candidates]]\ndevice = "{SSD}"\nmemory = ["1 GiB", "2 GiB"]\n', "[memory] with price_per_gib"),
        (f'[[candidates]]\ndevice = "{SSD}"\nset = {{ "host.memory" = ["1 GiB", "2 GiB"] }}\n', "[memory] with price"),
        (f'[[candidates]]\ndevice = "{SSD}"\nset = {{ "host.cores" = [8, 64] }}\n', "host.cores: candidates differ"),
        (
            '[[candidates]]\ndevice = "aws-gp3"\n[candidates.set]\n"instances.x.type" = ["aws-r5-xlarge", "b"]\n',
            "a bill has no rent of instances",
        ),
        (f'[prices.aws-gp3]\nprice_per_iops_month = 0.005\n[[candidates]]\ndevice = "{SSD}"\n', "date: is missing"),
        (f'[prices.{SSD}]\nprice = 5\n[[candidates]]\ndevice = "{SSD}"\n', "date: is missing"),
        (f'[host]\nprice = 5\n[[candidates]]\ndevice = "{SSD}"\n', "price_date"),
        (f'[[candidates]]\ndevice = "{SSD}"\ncount = 3\nlayout = "raid10"\n', "RAID 10 needs even counts"),
        ("", "candidates"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ScenarioError) as error:
        listed(tmp_path, text)
    assert says in str(error.value)


def test_a_candidate_that_does_not_fit_together_says_why(tmp_path: Path) -> None:
    text = f'[host]\nbays = 8\n[[candidates]]\ndevice = "{SSD}"\ncount = [8, 10]\n'
    fits, many = listed(tmp_path, text)
    assert fits.problem is None
    assert many.scenario is not None
    assert many.problem is not None
    assert "10 drives need 2 bays more" in many.problem


def test_licences_need_cores(tmp_path: Path) -> None:
    text = f'price_date = "2026"\n[licences]\nper_core = 10\n[[candidates]]\ndevice = "{SSD}"\n'
    (one,) = listed(tmp_path, text)
    assert "write cores" in (one.problem or "")
    (two,) = listed(tmp_path, text + 'set = { "host.cpu" = "xeon-e5-2690v3", "host.count" = 2 }\n')
    assert two.cost is not None
    assert two.cost.capex == 1262 + 24 * 10


def test_memory_keeps_the_shares_of_the_scenario(tmp_path: Path) -> None:
    base = tmp_path / "base.toml"
    base.write_text(
        '[host]\nmemory = "128 GiB"\n[engine]\nbuffer_pool = "32 GiB"\nos_cache = "64 GiB"\n[volumes.data]\ndevice ='
        f' "{SSD}"\n'
    )
    text = (
        f'price_date = "2026"\n[memory]\nprice_per_gib = 8\n[[candidates]]\ndevice = "{SSD}"\nmemory = ["64 GiB", "256'
        ' GiB"]\n'
    )
    small, large = listed(tmp_path, text, str(base))
    assert [one.settings["engine.buffer_pool"] for one in (small, large)] == [f"{16 << 10} MiB", f"{64 << 10} MiB"]
    assert [one.settings["engine.os_cache"] for one in (small, large)] == [f"{32 << 10} MiB", f"{128 << 10} MiB"]
    with pytest.raises(ScenarioError, match="pool_share"):
        listed(tmp_path, text)


def test_a_setting_that_candidates_have_themselves_is_refused() -> None:
    """It was overwritten, and nobody said so: eight drives were asked for, and one was chosen."""
    with pytest.raises(ScenarioError, match=r"--set volumes\.data\.count: candidates set it \(the first: 1\)"):
        combinations(of_names([SSD]), SSD, ["volumes.data.count=8", "volumes.data.layout=raid10"], Path())
    assert combinations(of_names([SSD]), SSD, ["replay.mode=open"], Path())


def test_names_alone_make_candidates() -> None:
    found = combinations(of_names([SSD]), SSD, (), Path())
    assert [one.count for one in found] == [1, 2, 4, 6, 8, 12, 16, 24]
    with pytest.raises(ScenarioError, match="ordered by size"):
        of_names(["aws-gp3"])
