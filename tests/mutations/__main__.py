"""The command line of :mod:`tests.mutations`."""

import argparse
import sys

from tests.mutations.copy import copied
from tests.mutations.fault import Fault
from tests.mutations.faults import AREAS

FAULTS = {fault.name: fault for faults in AREAS.values() for fault in faults}


def main() -> int:
    """Run from the command line; returns 1 when a fault is not caught or does not apply."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutations", description="Make faults, one after the other, and see whether tests fail."
    )
    names = [*AREAS, *FAULTS]
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=names, default=list(AREAS), help="faults or areas")
    parser.add_argument("--whole", action="store_true", help="run all tests of the default run, not those named")
    parser.add_argument("--without-compiler", action="store_true", help="run kernels as plain Python")
    options = parser.parse_args()
    chosen = [fault for area, faults in AREAS.items() for fault in faults if {area, fault.name} & {*options.only}]
    tests = sorted({test for fault in chosen for test in fault.tests})
    with copied(without_compiler=options.without_compiler) as copy:
        outcome = copy.test([] if options.whole else tests)
    if not outcome.passed:
        print(f"{outcome.printed}\nTests fail without any fault, so their failures say nothing.", file=sys.stderr)
        return 1
    caught = [_is_caught(fault, options.whole, options.without_compiler) for fault in chosen]
    print(f"{sum(caught)} of {len(caught)} caught")
    return 0 if all(caught) else 1


def _is_caught(fault: Fault, whole: bool, without_compiler: bool) -> bool:
    """Make a fault, run its tests or all, and print what they say."""
    if not fault.applies():
        print(f"{fault.name}: did not apply: the old text does not stand once in {fault.file}", flush=True)
        return False
    with copied(without_compiler=without_compiler) as copy:
        fault.make(copy.root)
        outcome = copy.test([] if whole else fault.tests)
    failed = outcome.first_failure
    if failed is None and not outcome.passed:
        print(f"{fault.name}: NOT caught: pytest could not run its tests, and ended with {outcome.status}", flush=True)
    else:
        print(f"{fault.name}: {f'caught by {failed}' if failed else f'NOT caught: {fault.wrong}'}", flush=True)
    return failed is not None


if __name__ == "__main__":
    sys.exit(main())
