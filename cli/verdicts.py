"""What tables say of a run as a whole: whether the load is carried, the busiest part, the error to expect."""

from collections.abc import Mapping
from typing import Any

from tiersim.cli.model_error import reach
from tiersim.simulator.part_names import part_name

Summary = Mapping[str, Any]

_CREDITS = {"falling": ", on credits", "ran out": ", credits ran out"}


def load_of(summary: Summary) -> str:
    """Return the verdict on load, with what became of burst credits."""
    verdict = summary["verdict"]
    return f"{verdict['load']}{_CREDITS.get(verdict.get('credits', ''), '')}"


def carries(summary: Summary) -> str:
    """Return whether the hardware carries the load: yes, or no and how it fails."""
    load = load_of(summary)
    return load.replace("steady", "yes", 1) if load.startswith("steady") else f"no, {load}"


def busiest(summary: Summary) -> str:
    """Return the busiest part and how busy it is; nothing if the result does not say."""
    found = summary.get("bottleneck")
    if not found or found.get("utilisation") is None:
        return ""
    return f"{part_name(found['station'], found['resource'])} {100 * found['utilisation']:.0f} %"


def expected_error(summary: Summary) -> str:
    """Return the error of throughput to expect; nothing if the result does not say."""
    found = summary.get("model_error")
    return reach(found["figures"]["throughput"]) if found else ""
