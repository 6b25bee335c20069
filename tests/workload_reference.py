"""docs/workload-reference.md, made of the schemas of workloads and of candidates files; ``python -m
tests.workload_reference`` writes it anew.
"""

from pathlib import Path

from tests.schema_tables import table
from tiersim.scenarios.sizing.candidates import CandidatesModel
from tiersim.scenarios.workloads.model import Workload
from tiersim.scenarios.workloads.steps import VERBS

DOCUMENT = Path(__file__).parents[1] / "docs" / "workload-reference.md"
_OF_WORKLOADS = {
    "DatabaseModel": "[workload]",
    "RelationModel": "[relations.NAME]",
    "StatementModel": "[statements.NAME]",
    "StreamModel": "[streams.NAME]",
}
_OF_CANDIDATES = {
    "ListModel": "[[candidates]]",
    "HostPriceModel": "[host]",
    "EnclosureModel": "[enclosure]",
    "MemoryPriceModel": "[memory]",
    "LicenceModel": "[licences]",
    "PowerModel": "[power]",
    "PriceModel": "[prices.DEVICE]",
}
_HEAD = """# Workload and candidates reference

Every key of a [described workload](workloads.md) and of a [candidates file](sizing.md), made of the schemas by which these files are checked.
"""  # noqa: E501


def document() -> str:
    """Return the page."""
    workload, candidates = Workload.model_json_schema(), CandidatesModel.model_json_schema()
    parts = [_HEAD, "## Workloads\n", *_tables(workload, _OF_WORKLOADS)]
    parts += ["## Steps of a statement\n", 'A step is a table such as `{ scan = "orders", degree = 8 }`.\n']
    for verb, model in VERBS.items():
        parts += [f"### `{verb}`\n", table(workload["$defs"][model.__name__], {})]
    written = {model: f"table `{name}`" for model, name in _OF_CANDIDATES.items()}
    parts += ["## Candidates files\n", table(candidates, written), *_tables(candidates, _OF_CANDIDATES)]
    return "\n".join(parts)


def _tables(schema: dict[str, object], written: dict[str, str]) -> list[str]:
    defs = schema["$defs"]
    assert isinstance(defs, dict)
    return [part for model, name in written.items() for part in (f"### `{name}`\n", table(defs[model], {}))]


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
