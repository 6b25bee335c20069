"""What was measured, in results.json beside this: by case and step, a run for each size."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.load.cases import Case

_RESULTS = Path(__file__).parent / "results.json"

Results = dict[str, Any]


def read_results() -> Results:
    """Return all that was kept."""
    found: Results = json.loads(_RESULTS.read_text()) if _RESULTS.exists() else {"machine": {}, "cases": {}}
    return found


def keep(case: Case, step: str, run: Mapping[str, Any], machine: Mapping[str, Any]) -> None:
    """Keep a run in place of the one of the same size before it."""
    results = read_results()
    results["machine"] = dict(machine)
    steps = results["cases"].setdefault(case.name, {"unit": case.unit, "start": case.start, "steps": {}})["steps"]
    others = [one for one in steps.get(step, []) if one["size"] != run["size"]]
    steps[step] = sorted([*others, dict(run)], key=lambda one: one["size"])
    _RESULTS.write_text(json.dumps(results, indent=1) + "\n")
