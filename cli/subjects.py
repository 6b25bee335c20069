"""Opens what is sized: a recording, or a described workload, made ready for many runs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tiersim.cli.traces import open_trace
from tiersim.cli.warmup import compile_if_cold
from tiersim.errors import ScenarioError

if TYPE_CHECKING:
    from tiersim.scenarios.hardware import NamedScenario
    from tiersim.scenarios.sizing.subject import Subject


@contextmanager
def open_subject(
    trace: Path, base: str, settings: Sequence[str], recorded_on: str | None
) -> "Iterator[Subject]":  # fmt: skip
    """Yield what *trace* is, for scenarios like *base* with *settings*; *recorded_on* is a scenario of the recorded hardware."""
    from tiersim.scenarios.loading import load_scenario
    from tiersim.scenarios.sizing.subject import of_path
    from tiersim.scenarios.workloads.model import find_workload

    scenario = load_scenario(base, settings)
    baseline = None if recorded_on is None else load_scenario(recorded_on)
    workload = find_workload(trace)
    if workload is not None:
        if baseline is not None:
            raise ScenarioError(
                f"--recorded-on: belongs to recordings, and {workload} describes a workload; leave it out"
            )
        compile_if_cold()
        yield _checked(of_path(workload, scenario), scenario)
        return
    with open_trace(trace) as bundle:
        compile_if_cold()
        yield _checked(of_path(bundle.path, scenario, baseline), scenario)


def _checked(subject: "Subject", scenario: "NamedScenario") -> "Subject":
    subject.refuse_load(scenario)
    return subject
