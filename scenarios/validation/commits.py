"""Commits: 16 KiB written and made durable, over and over, by one job and by more, on six devices."""

from functools import partial

from tiersim.scenarios.calibration.fitting.loops import residuals_of_loops
from tiersim.scenarios.calibration.fitting.model import start
from tiersim.scenarios.calibration.fitting.residuals import measure
from tiersim.scenarios.calibration.fitting.search import compass
from tiersim.scenarios.calibration.fitting.targets import FitTarget, Setting
from tiersim.scenarios.validation.claims import Claim, Experiment

_FITTED = (1, 16)
_LENGTH_BYTES = 16384
_STEPS = (4.0, 2.0, 1.25, 1.1, 1.04, 1.015)
#: Programs and commands limit nothing here; a flush of a protected drive costs about what a command does.
_NO_BOTTLENECK = {"program_ns": 100_000, "dies": 64, "controller_iops": 1_000_000}
_COMMAND_NS = 2_000
_IN_PROPORTION = 0.8
#: Device, whether it is protected against a loss of power (or remote), commits/s by jobs; means of two runs.
MEASURED: dict[str, tuple[bool, dict[int, float]]] = {
    "Crucial T500 2 TB": (False, {1: 2098, 2: 2878, 4: 2602, 8: 3108, 16: 3100, 32: 3018}),
    "Samsung 990 PRO 2 TB": (False, {1: 330, 2: 422, 4: 508, 8: 380, 16: 606, 32: 1183}),
    "Samsung PM9A3 960 GB": (True, {1: 45950, 2: 89400, 4: 90600, 8: 90650, 16: 90616, 32: 90608}),
    "Solidigm D7-P5520 3.84 TB": (True, {1: 27400, 2: 50500, 4: 93800, 8: 168250, 16: 260950, 32: 268493}),
    "GCP local NVMe": (True, {1: 8173, 2: 13402, 4: 21170, 8: 37050, 16: 49652, 32: 49656}),
    "GCP remote disk": (True, {1: 1942, 2: 3803, 4: 7522, 8: 15092, 16: 29739, 32: 50278}),
}


def commits_per_s(protected: bool, measured: dict[int, float]) -> dict[int, float]:
    """Predicted rate by jobs, two numbers chosen to meet those of one job and of sixteen.

    A protected device has the latency of a write and, where sixteen jobs do not do sixteen times as much, the rate of
    its link; an unprotected one how long a flush takes alone and how close flushes follow each other.
    """
    targets = {jobs: FitTarget(_setting(jobs), rate, {}, 2) for jobs, rate in measured.items()}
    one, many = (measured[jobs] for jobs in _FITTED)
    values = start() | _NO_BOTTLENECK
    fitted: tuple[int, ...] = _FITTED
    free: tuple[str, ...] = ("flush_ns", "flush_interval_ns")
    if protected:
        values["flush_ns"] = _COMMAND_NS
        fitted, free = _FITTED[:1], ("write_ns",)
        if many < _IN_PROPORTION * _FITTED[1] * one:
            values["link_bytes_per_s"] = many * _LENGTH_BYTES
    found = measure(partial(residuals_of_loops, [targets[jobs] for jobs in fitted]))
    chosen, _ = compass(found, values, free, steps=_STEPS, rounds=12)
    return {jobs: residuals_of_loops([target], chosen)[0].fitted for jobs, target in targets.items()}


def _setting(jobs: int) -> Setting:
    return Setting("sequential", _LENGTH_BYTES, jobs, jobs, 0.0, 1)


def experiment() -> Experiment:
    """Six devices by jobs, and what protection is worth."""
    claims, alone = [], {}
    for name, (protected, measured) in MEASURED.items():
        rates = commits_per_s(protected, measured)
        alone[name] = measured[1], rates[1]
        for jobs, rate in measured.items():
            what = f"{name}, {jobs} job{'s' if jobs > 1 else ''}"
            claims.append(Claim(what, "commits/s", rate, rates[jobs], 20, fitted=jobs in _FITTED, figure="throughput"))
    for with_it, without in (
        ("Samsung PM9A3 960 GB", "Samsung 990 PRO 2 TB"),
        ("Solidigm D7-P5520 3.84 TB", "Crucial T500 2 TB"),
    ):
        published, predicted = (alone[with_it][side] / alone[without][side] for side in (0, 1))
        claims.append(Claim(f"{with_it} / {without}, 1 job", "x", published, predicted, 20, fitted=True))
    return Experiment(
        "commits",
        "Commits by jobs: 16 KiB and fdatasync, with power-loss protection and without",
        "M. Callaghan, mytools (fio, psync, ext4)",
        "two numbers a device, to one job and to sixteen",
        tuple(claims),
        basis="calibrated",
    )
