"""Workloads and scenarios of the library, run for what was published of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tiersim.scenarios import library
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.workloads.assembly import Described
from tiersim.scenarios.workloads.model import RelationModel, StatementModel, Workload
from tiersim.scenarios.workloads.replay import load_workload, run_workload
from tiersim.scenarios.workloads.steps import Lookup, Spill, Step


def summary_of(workload: str | Described, scenario: str, settings: Sequence[str] = ()) -> Mapping[str, Any]:
    """Return the summary of a run of a workload, of the library by its name, on a scenario of the library."""
    described = load_workload(library.workload_path_of(workload)) if isinstance(workload, str) else workload
    return run_workload(described, load_scenario(scenario, settings)).summary


def scaled_down(workload: str, factor: int) -> Described:
    """Return a workload of the library with relations, spills and looked up rows that are *factor* times as small."""
    described = with_smaller_relations(load_workload(library.workload_path_of(workload)), factor)
    statements = {
        name: statement.model_copy(update={"does": [_less(step, factor) for step in statement.does]})
        for name, statement in described.model.statements.items()
    }
    return replace(described, model=described.model.model_copy(update={"statements": statements}))


def with_smaller_relations(described: Described, factor: int) -> Described:
    """Return a workload whose relations alone are *factor* times as small."""
    relations = {name: smaller(relation, factor) for name, relation in described.model.relations.items()}
    return replace(described, model=described.model.model_copy(update={"relations": relations}))


def with_steps(workload: str, kind: type[Step], changed: Mapping[str, Any]) -> Described:
    """Return a workload of the library whose steps of a *kind* have other values."""
    described = load_workload(library.workload_path_of(workload))
    model: Workload = described.model
    statements = {
        name: statement.model_copy(
            update={
                "does": [step.model_copy(update=changed) if isinstance(step, kind) else step for step in statement.does]
            }
        )
        for name, statement in model.statements.items()
    }
    return replace(described, model=model.model_copy(update={"statements": statements}))


def with_stream(workload: str, stream: str, statements: Sequence[StatementModel]) -> Described:
    """Return a workload of the library whose *stream* runs *statements*, which are named by their place; nothing: it is
    left out.
    """
    described = load_workload(library.workload_path_of(workload))
    model = described.model
    own = {f"{stream}_{place}": statement for place, statement in enumerate(statements)}
    streams = {name: one for name, one in model.streams.items() if name != stream}
    if own:
        streams[stream] = model.streams[stream].model_copy(update={"statements": list(own)})
    changed = {"statements": {**model.statements, **own}, "streams": streams}
    return replace(described, model=model.model_copy(update=changed))


def smaller(relation: RelationModel, factor: int) -> RelationModel:
    """Return a relation of a *factor*-th of the pages and rows."""
    sizes = {key: getattr(relation, key) for key in ("rows", "pages", "size", "index")}
    return relation.model_copy(update={key: max(size // factor, 1) for key, size in sizes.items() if size is not None})


def _less(step: Step, factor: int) -> Step:
    if isinstance(step, Lookup):
        return step.model_copy(update={"rows": max(step.rows // factor, 1)})
    if isinstance(step, Spill):
        return step.model_copy(update={"spill": max(step.spill // factor, 1)})
    return step
