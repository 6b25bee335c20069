"""pgbench's load without a recording: its tables as PostgreSQL makes them, and rates that one part
of the host bounds.
"""

import pytest

from tiersim.devices.array.volume import Volume
from tiersim.devices.catalogue import load_device
from tiersim.scenarios.validation.pgbench import PgbenchServer, Script, demands, rate, relations
from tiersim.simulator.database.database_state import COMPUTE, LOCK, LOG

US = 1_000
MIB = 1 << 20
NVME = Volume("nvme", load_device("intel-750-400"), 1, "single", 65536)


def per_s(server: PgbenchServer, script: Script, scale: int, cpu_us: int) -> float:
    return rate(server, script, scale, cpu_us * US, 300, settle_s=0.02, measure_s=0.1, most_per_s=100_000).per_s


def test_tables_have_the_pages_that_postgresql_gives_them() -> None:
    """1640 pages of accounts and 276 of their index with the one that describes it at scale 1; 163,935 and 27,423 at
    100.
    """
    accounts, history, tellers, branches = relations(1, 0)
    assert accounts.level_pages == (1, 274, 1640)
    assert relations(100, 0)[0].level_pages[-2:] == (27_323, 163_935)
    assert [relation.rows for relation in (accounts, history, tellers, branches)] == [100_000, 1, 10, 1]


@pytest.mark.parametrize(
    ("script", "commands", "locks"), [("select-only", 1, 0), ("simple-update", 5, 1), ("tpcb-like", 7, 3)]
)
def test_scripts_have_their_commands(script: Script, commands: int, locks: int) -> None:
    kinds = [demand.kind for demand in demands(script, 300)]
    assert (kinds.count(COMPUTE), kinds.count(LOCK), kinds.count(LOG)) == (
        commands,
        locks,
        int(script != "select-only"),
    )


def test_what_fits_into_the_pool_is_bound_by_the_processors() -> None:
    server = PgbenchServer(2, 8, 64 * MIB, 64 * MIB, NVME)
    assert per_s(server, "select-only", 1, 200) == pytest.approx(2 / 200e-6, rel=0.03)


def test_updates_of_one_branch_follow_each_other() -> None:
    """From the update of the branch to the end of the commit nobody else has its row."""
    server = PgbenchServer(8, 8, 64 * MIB, 64 * MIB, NVME)
    assert per_s(server, "tpcb-like", 1, 700) < 0.8 * per_s(server, "tpcb-like", 16, 700) < 8 / 700e-6


def test_clients_that_run_out_of_transactions_are_no_rate() -> None:
    server = PgbenchServer(2, 8, 64 * MIB, 64 * MIB, NVME)
    with pytest.raises(ValueError, match=r"most_per_s: with 1,000 a second"):
        rate(server, "select-only", 1, 200 * US, settle_s=0.02, measure_s=0.1, most_per_s=1_000)


def test_what_does_not_fit_waits_for_the_device() -> None:
    small, large = (PgbenchServer(8, 8, 8 * MIB, cache, NVME) for cache in (8 * MIB, 128 * MIB))
    assert per_s(small, "select-only", 4, 100) < 0.8 * per_s(large, "select-only", 4, 100)


def test_in_the_long_run_an_update_writes_back_the_page_that_it_changed() -> None:
    """Of a table that is much larger than pool and page cache together; one that the pool holds is never written."""
    small, large = PgbenchServer(4, 8, 2 * MIB, 4 * MIB, NVME), PgbenchServer(4, 8, 64 * MIB, 64 * MIB, NVME)

    def writes(server: PgbenchServer, scale: int) -> float:
        found = rate(
            server, "simple-update", scale, 400 * US, 300, settle_s=0.5, measure_s=0.5, most_per_s=10_000
        )  # fmt: skip
        return found.device_writes

    assert writes(small, 20) == pytest.approx(1, abs=0.06)
    assert writes(large, 1) == 0
