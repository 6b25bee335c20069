"""Measure two real PostgreSQL servers on one device, each alone and both together, and compare with what tiersim says
of them; README.md beside this says how. Measuring needs root.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.processes import interrupt_once, told
from benchmarks.real_tenants.compare import compare
from benchmarks.real_tenants.measure import Bench
from benchmarks.real_tenants.plan import Plan, read_plan
from benchmarks.real_tenants.predict import predict

_HERE = Path(__file__).parent
_STEPS = ("record", "predict", "measure", "compare")


def main() -> int:
    """Do what the arguments ask for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_tenants", description=__doc__)
    parser.add_argument("step", choices=_STEPS)
    parser.add_argument("out", type=Path, help="a folder for the results; what it has is not measured again")
    parser.add_argument("--plan", type=Path, default=_HERE / "plan.toml", help="what to measure")
    parser.add_argument("--scratch", type=Path, default=Path("/dev/shm"), help="memory where the servers lie")
    arguments = parser.parse_args()
    out: Path = arguments.out.resolve()
    with told():
        plan = read_plan(arguments.plan)
        if arguments.step == "record":
            with _bench(plan, arguments.scratch) as bench:
                for name in plan.tenants:
                    bench.measure([name], out / f"alone-{name}", recorded=True)
        elif arguments.step == "predict":
            predict(plan, out)
        elif arguments.step == "measure":
            if not (out / "prediction.json").exists():
                parser.error("predict first")
            with _bench(plan, arguments.scratch) as bench:
                for number in range(1, plan.repeats + 1):
                    bench.measure(list(plan.tenants), out / f"together-{number}")
        else:
            sys.stdout.write(compare(plan, out))
    return 0


@contextmanager
def _bench(plan: Plan, scratch: Path) -> Iterator[Bench]:
    interrupt_once()
    with tempfile.TemporaryDirectory(prefix="tiersim-bench-", dir=scratch) as name:
        Path(name).chmod(0o755)  # servers run as another user
        yield Bench(plan, Path(name), _say)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
