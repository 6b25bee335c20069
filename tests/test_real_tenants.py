"""The bench of two servers on one device: its allowance, and what it calls the slowest stretch."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.real_tenants.allowance import KINDS, Allowance
from benchmarks.real_tenants.compare import checkpoint_s, compare, slowest
from benchmarks.real_tenants.plan import read_plan

_PLANS = Path("benchmarks/real_tenants")
_CALLS = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR)
for number in range(int(sys.argv[2])):
    os.pread(file, 512, 0)
    os.pwrite(file, b"x" * 512, 0)
    os.fdatasync(file)
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_processes_share_one_allowance_of_reads_writes_and_flushes(tmp_path: Path) -> None:
    """No request is granted before its token's slice of time, whoever asked; without a limit none is noted."""
    allowance, data = Allowance.make(tmp_path), tmp_path / "data"
    data.write_bytes(bytes(4096))

    def run_both(rounds: int) -> None:
        processes = [
            subprocess.Popen(
                [sys.executable, "-S", "-c", _CALLS, str(data), str(rounds)],
                env=os.environ | allowance.environment(tenant),
            )
            for tenant in range(2)
        ]
        assert [process.wait() for process in processes] == [0, 0]

    run_both(3)
    assert len(allowance.requests()) == 0
    tokens, slice_ns, rounds = 4, 5_000_000, 20
    allowance.limit(tokens, slice_ns)
    run_both(rounds)
    found = np.sort(allowance.requests(), order="granted_ns")
    for tenant in range(2):
        for code, kind in enumerate(KINDS):
            own = (found["tenant"] == tenant) & (found["kind"] == code)
            assert np.count_nonzero(own) >= rounds, kind  # the interpreter itself may read, too
    first = found["came_ns"].min() // slice_ns
    due_ns = (first + np.arange(len(found)) // tokens) * slice_ns
    assert (found["granted_ns"] >= due_ns).all()
    assert (found["done_ns"] >= found["granted_ns"]).all()


def test_plans_are_read_and_say_how_long_checkpoints_are() -> None:
    plan = read_plan(_PLANS / "plan.toml")
    assert (plan.tokens, checkpoint_s(plan)) == (8, 16)
    assert plan.cell("writer").script == "updates"
    assert read_plan(_PLANS / "short.toml").tenants == plan.tenants


@pytest.mark.parametrize("name", ["ten_clients", "four_clients", "two_writers", "twelve_clients"])
def test_rates_of_held_out_pairs_are_met(name: str) -> None:
    folder = _PLANS / "held_out" / name
    lines = compare(read_plan(folder / "plan.toml"), folder).splitlines()
    rates = [line for line in lines if "| transactions/s |" in line]
    assert len(rates) == 2
    assert all(line.endswith("| 10 % | met |") for line in rates)


def test_the_slowest_stretch_is_a_share_of_the_mean_of_the_run() -> None:
    per_s = [100.0] * 30 + [50.0] * 10 + [100.0] * 10
    depth_pct, begin_s = slowest(per_s, 10)
    assert depth_pct == pytest.approx(100 * 50 / 90)
    assert begin_s == 30


def test_a_comparison_takes_the_mean_of_repeats_and_says_what_is_met(tmp_path: Path) -> None:
    plan = read_plan(_PLANS / "plan.toml")
    per_s = [100.0] * 60

    def measured(rate: float) -> dict[str, object]:
        took = {"mean_ms": 10.0, "p95_ms": 20.0}
        return {
            "transactions_per_s": rate, "mean_ms": 6e3 / rate, "per_s": per_s, "checkpoints": [{"start_s": 34.0}],
            "requests": {"read": took, "flush": took},
        }  # fmt: skip

    predicted = {
        "alone": {"transactions_per_s": 200.0},
        "together": {
            "transactions_per_s": 105.0, "mean_ms": 57.0, "per_s": per_s, "checkpoints": [{"start_s": 37.0}],
            "expected_per_s": {"low": 90.0, "high": 110.0},
            "requests": {
                "data read": {"mean_ms": 12.0, "p95_ms": 24.0}, "log flush": {"mean_ms": 10.5, "p95_ms": None},
            },
        },
    }  # fmt: skip
    rates = {
        "alone-reader": {"reader": 200.0},
        "alone-writer": {"writer": 200.0},
        "together-1": {"reader": 99.0, "writer": 80.0},
        "together-2": {"reader": 101.0, "writer": 80.0},
    }
    for folder, own in rates.items():
        (tmp_path / folder).mkdir()
        document = {"tenants": {name: measured(rate) for name, rate in own.items()}}
        (tmp_path / folder / "result.json").write_text(json.dumps(document))
    said = {"commit": "0" * 40, "changed": False, "tenants": dict.fromkeys(("reader", "writer"), predicted)}
    (tmp_path / "prediction.json").write_text(json.dumps(said))
    lines = compare(plan, tmp_path).splitlines()
    assert "| reader | transactions/s | 105 | 100 | 2.0 % | +5.0 % | 10 % | met |" in lines
    assert "| writer | transactions/s | 105 | 80 | 0.0 % | +31.2 % | 10 % | NOT met |" in lines
    assert "| reader | transactions/s, range of 80 % | 90 to 110 | 100 | | | | met |" in lines
    assert "| writer | transactions/s, range of 80 % | 90 to 110 | 80 | | | | NOT met |" in lines
    assert "| reader | read, mean, ms | 12 | 10 | 0.0 % | +20.0 % | 10 % | NOT met |" in lines
    assert "| reader | read, p95, ms | 24 | 20 | 0.0 % | +20.0 % | 25 % | met |" in lines
    assert "| writer | flush, mean, ms | 10.5 | 10 | 0.0 % | +5.0 % | 10 % | met |" in lines
    assert "| writer | flush, p95, ms | not resolved | 20 | 0.0 % | | 25 % | NOT met |" in lines
    assert "| writer | checkpoint begins, s | 37 | 34 | 0 | +3.0 | 2 | NOT met |" in lines
