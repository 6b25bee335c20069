"""The generated part of docs/result.md, made of the schema of a result; ``python -m tests.result_tables`` writes it."""

from pathlib import Path
from typing import Any

from tests.marked import write
from tiersim.simulator.summary_model import Summary

DOCUMENT = Path(__file__).parents[1] / "docs" / "result.md"
NAME = "summary"
#: The tables of a summary in the order of the page, and the keys that hold them.
_WITHIN = {
    "FigureSaid": "each figure",
    "VerdictSaid": "`verdict`",
    "LoadSaid": "`load`",
    "BottleneckSaid": "`bottleneck`",
    "LatencySaid": "`latency_ns`, each class",
    "QuerySaid": "`queries`, each query: besides the keys of a class",
    "ModelErrorSaid": "`model_error`",
    "ConservationSaid": "`conservation`",
}


def part() -> str:
    """Return what stands between the marks."""
    schema = Summary.model_json_schema()
    inherited = schema["$defs"]["LatencySaid"]["properties"]
    tables = [_table("key", schema["properties"])]
    for model, title in _WITHIN.items():
        keys = schema["$defs"][model]["properties"]
        own = {key: entry for key, entry in keys.items() if model != "QuerySaid" or key not in inherited}
        tables.append(f"### {title[0].upper()}{title[1:]}\n\n{_table('key', own)}")
    return "\n".join(tables)


def _table(heading: str, keys: dict[str, dict[str, Any]]) -> str:
    rows = (f"| `{key}` | {entry['description']} |\n" for key, entry in keys.items())
    return f"| {heading} | meaning |\n|---|---|\n" + "".join(rows)


if __name__ == "__main__":
    write(DOCUMENT, {NAME: part()})
