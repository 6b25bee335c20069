"""docs/scenario-reference.md, made of the schema of scenarios; ``python -m
tests.scenario_reference`` writes it anew.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tiersim.scenarios.model import Scenario
from tiersim.units import format_bytes, format_ns

DOCUMENT = Path(__file__).parents[1] / "docs" / "scenario-reference.md"

#: The tables of a scenario in the order of the page, how they are written, and the page that says more.
_TABLES = {
    "HostModel": ("[host]", "[statements](statements.md), [processors](processors.md)"),
    "CostsModel": ("[host.costs]", "[processors](processors.md)"),
    "EngineModel": (
        "[engine]",
        "[statements](statements.md), [pool](pool.md), [log](log.md), [SQL Server](sqlserver.md)",
    ),
    "ReplicaModel": ("[engine.replica]", "[log](log.md)"),
    "VolumeModel": ("[volumes.NAME]", "[devices](devices.md), [host](host.md), [tiers](tiers.md)"),
    "PoolModel": ("[pools.NAME]", "[devices](devices.md)"),
    "NeighbourModel": ("[pools.NAME.neighbour]", "[devices](devices.md)"),
    "InstanceModel": ("[instances.NAME]", "[devices](devices.md)"),
    "QueueModel": ("[queues.NAME]", "[host](host.md)"),
    "ControllerModel": ("[controllers.NAME]", "[controllers](controllers.md)"),
    "ReplayModel": ("[replay]", "[replay](replay.md), [statements](statements.md)"),
}
_HEAD = """# Scenario reference

Every key of a scenario file, made of the schema by which files are checked. `tiersim devices schema scenario` prints that schema, by which an editor completes and checks them; an
example is in [statements](statements.md). A size is written `"16 GiB"`, a duration `"3.4 ms"`, a rate `"204 MB/s"`, each with its unit. An unknown key is refused, with the one that
was probably meant. From the command line: `--set engine.buffer_pool=64GiB`.
"""  # noqa: E501
_NOTES = {"EngineModel": " Settings that are left out are as they were recorded, unless the table says otherwise."}
_UNITS = {"16 GiB": "size", "3.4 ms": "duration", "204 MB/s": "rate"}


def document() -> str:
    """Return the page."""
    schema = Scenario.model_json_schema()
    parts = [_HEAD, "## The file\n", _table(schema)]
    for model, (written, pages) in _TABLES.items():
        parts += [f"## `{written}`\n", f"More in {pages}.{_NOTES.get(model, '')}\n", _table(schema["$defs"][model])]
    return "\n".join(parts)


def _table(schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    rows = ["| key | value | left out | meaning |", "|---|---|---|---|"]
    for key, entry in schema["properties"].items():
        left_out = "**required**" if key in required else _default(entry)
        rows.append(f"| `{key}` | {', or '.join(_values(entry))} | {left_out} | {entry['description']} |")
    return "\n".join(rows) + "\n"


def _values(entry: dict[str, Any]) -> Iterator[str]:
    """Yield what can be written, in words."""
    for one in entry.get("anyOf", (entry,)):
        if "$ref" in one:
            written = _TABLES[one["$ref"].rpartition("/")[2]][0]
            yield f"table `{written}`"
        elif "enum" in one:
            yield ", ".join(f'`"{choice}"`' for choice in one["enum"])
        elif "const" in one:
            yield f'`"{one["const"]}"`'
        elif one["type"] == "object" and "$ref" in one["additionalProperties"]:
            yield f"tables `{_TABLES[one['additionalProperties']['$ref'].rpartition('/')[2]][0]}`"
        elif one["type"] == "object":
            yield "table of texts"
        elif one["type"] == "array":
            (items,) = _values(one["items"])
            plural, comma, bounds = items.partition(",")
            yield f"list of {plural}s{comma}{bounds}{_length(one)}"
        elif one["type"] != "null":
            yield _kind(one) + _range(one)


def _kind(one: dict[str, Any]) -> str:
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true`, `false`"}
    return _UNITS.get(one.get("examples", [""])[0], words[one["type"]])


def _length(one: dict[str, Any]) -> str:
    least, most = one.get("minItems"), one.get("maxItems")
    return "" if least is None else f", {least} of them" if least == most else f", at least {least} of them"


def _range(one: dict[str, Any]) -> str:
    """Return the bounds; of sizes and durations the schema has none, since they are text there."""
    least, most = one.get("minimum"), one.get("maximum")
    above, below = one.get("exclusiveMinimum"), one.get("exclusiveMaximum")
    if least is not None and most is not None:
        return f", {least:,g} to {most:,g}" if most < 10**6 else f", {least:,g} to {most:,.0f}"
    words = (("at least", least), ("above", above), ("at most", most), ("below", below))
    return "".join(f", {word} {bound:,}" for word, bound in words if bound is not None)


def _default(entry: dict[str, Any]) -> str:
    value, unit = entry.get("default"), _UNITS.get(entry.get("examples", [""])[0])
    if value is None or isinstance(value, dict) or value == "":
        return ""
    if unit == "duration":
        return format_ns(value)
    if unit == "size":
        return format_bytes(value)
    return (
        f"`{str(value).lower()}`"
        if isinstance(value, bool)
        else f'`"{value}"`'
        if isinstance(value, str)
        else f"{value:g}"
    )


def main() -> None:
    """Write the page."""
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
