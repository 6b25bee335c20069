"""Measure how fast recordings run side by side: ``python -m benchmarks.tenants``.

One recording alone, and so many (16) side by side that each ask for their part of the same load, in turns; a row for
each scenario: requests a CPU second of the one and of the many, and the ratio with its least and most. Recordings are
made up (:func:`benchmarks.exploring.write_recording`), a million requests each unless told otherwise.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.exploring import PER_S, write_recording
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.replay import Playback, PlayedRecording, play
from tiersim.scenarios.survey import survey
from tiersim.traces.bundle import Bundle

_ROUNDS = 5
_SCENARIOS = ("pcie-flash", "15k-raid10")


def per_cpu_s(parts: Sequence[PlayedRecording]) -> float:
    """Requests a CPU second of a run."""
    began = time.process_time()
    play(parts)
    return sum(part.found.requests for part in parts) / (time.process_time() - began)


def _playback(target: Path, requests: int, measured: bool, per_s: float) -> Playback:
    return Playback(survey(Bundle(write_recording(target, requests, measured=measured, per_s=per_s))), keep=True)


def main() -> int:
    """Print the rows; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tenants", description=__doc__)
    parser.add_argument("tenants", type=int, nargs="?", default=16)
    parser.add_argument("requests", type=int, nargs="?", default=1_000_000, help="of each")
    arguments = parser.parse_args()
    tenants, requests = arguments.tenants, arguments.requests
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name:
        for measured in (True, False):
            whole, part = (
                _playback(Path(name) / f"{measured}-{per_s:.0f}.trace", requests, measured, per_s)
                for per_s in (PER_S, PER_S / tenants)
            )
            for scenario in _SCENARIOS:
                one = PlayedRecording(whole, load_scenario(scenario))
                many = [replace(one, playback=part, name=str(number)) for number in range(tenants)]
                rates = [(per_cpu_s([one]), per_cpu_s(many)) for _ in range(_ROUNDS)]
                ratios = [together / alone for alone, together in rates]
                sys.stdout.write(
                    f"{scenario}, {'as recorded' if measured else 'by the clock'}: alone"
                    f" {median(alone for alone, _ in rates):,.0f}/s, {tenants} together"
                    f" {median(together for _, together in rates):,.0f}/s,"
                    f" {median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})\n"
                )
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
