"""Opens what is sized: a recording, or a described workload, made ready for many runs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tiersim.cli.traces import open_trace, workload_of
from tiersim.cli.warmup import compile_if_cold

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

    scenario = load_scenario(base, settings)
    baseline = None if recorded_on is None else load_scenario(recorded_on)
    workload = workload_of(trace, "--recorded-on" if baseline is not None else None)
    if workload is not None:
        compile_if_cold()
        yield _checked(of_path(workload, scenario), scenario)
        return
    with open_trace(trace) as bundle:
        compile_if_cold()
        yield _checked(of_path(bundle.path, scenario, baseline), scenario)


def _checked(subject: "Subject", scenario: "NamedScenario") -> "Subject":
    subject.refuse_load(scenario)
    return subject
