"""Processors of the catalogue: what is published of them that a simulated host can use."""

from typing import Literal

from pydantic import Field

from tiersim.devices.sourced import Sourced
from tiersim.errors import ScenarioError


class Processor(Sourced):
    """A processor as it is sold; a host has one or more of it."""

    kind: Literal["processor"]
    cores: int = Field(gt=0)
    clock_mhz: float = Field(gt=0)  # nominal
    spec_int_2006: float | None = Field(default=None, gt=0)  # of one core


def core_speed(processor: Processor, measured_on: Processor) -> float:
    """Return how much faster a core is than one of the processor that costs were measured on, by SPECint 2006.

    A first guess: founding document 000 explains 1.62 times by it and expects some less. Raises ScenarioError where no
    rating is known.
    """
    return _rating(processor) / _rating(measured_on)


def _rating(processor: Processor) -> float:
    if processor.spec_int_2006 is None:
        raise ScenarioError(
            f"{processor.name} has no rating in the catalogue, so the speed of its cores is not known; "
            "give cores and core_speed themselves"
        )
    return processor.spec_int_2006
