"""Tables of keys in Markdown, made of the JSON schema of a pydantic model."""

from collections.abc import Iterator, Mapping
from typing import Any

from tiersim.units import format_bytes, format_ns

_UNITS = {"16 GiB": "size", "3.4 ms": "duration", "-0.6 ms": "duration, also below 0", "204 MB/s": "rate"}


def table(schema: dict[str, Any], written: Mapping[str, str], skipped: frozenset[str] = frozenset()) -> str:
    """Return one row for each key but those that are *skipped*; *written* says how models within it are written."""
    required = schema.get("required", ())
    rows = ["| key | value | left out | meaning |", "|---|---|---|---|"]
    for key, entry in schema["properties"].items():
        if key not in skipped:
            left_out = "**required**" if key in required else _default(entry)
            values = ", or ".join(_values(entry, written))
            rows.append(f"| `{key}` | {values} | {left_out} | {_said(entry)} |")
    return "\n".join(rows) + "\n"


def _said(entry: dict[str, Any]) -> str:
    return str(entry.get("description", "")).replace("|", "\\|")


def _values(entry: dict[str, Any], written: Mapping[str, str]) -> Iterator[str]:
    """Yield what can be written, in words."""
    for one in entry.get("anyOf", (entry,)):
        if "$ref" in one:
            yield written[one["$ref"].rpartition("/")[2]]
        elif "enum" in one:
            yield ", ".join(f'`"{choice}"`' for choice in one["enum"])
        elif "const" in one:
            yield f'`"{one["const"]}"`'
        elif one["type"] == "object":
            yield _mapping(one["additionalProperties"], written)
        elif one["type"] == "array":
            yield _list(one, written)
        elif one["type"] != "null":
            yield _kind(one) + _range(one)


def _mapping(inner: Any, written: Mapping[str, str]) -> str:
    """Return what a table with names of one's own holds."""
    if inner is True or inner.get("type") == "object":
        return "table"
    if "$ref" in inner:
        return written[inner["$ref"].rpartition("/")[2]].replace("table ", "tables ")
    return f"table of {_kind(inner)}s"


def _list(one: dict[str, Any], written: Mapping[str, str]) -> str:
    if "prefixItems" in one:
        return "[" + ", ".join(next(_values(item, written)) for item in one["prefixItems"]) + "]"
    if "oneOf" in one["items"]:
        return "list of tables" + _length(one)
    item = next(_values(one["items"], written))
    if item.startswith("[") or "`" in item:
        return f"list of {item}{_length(one)}"
    plural, comma, bounds = item.partition(",")
    return f"list of {plural}s{comma}{bounds}{_length(one)}"


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
    if one["type"] == "string":
        return ""
    if least is not None and most is not None:
        return f", {least:,g} to {most:,g}" if most < 10**6 else f", {least:,g} to {most:,.0f}"
    words = (("at least", least), ("above", above), ("at most", most), ("below", below))
    return "".join(f", {word} {bound:,}" for word, bound in words if bound is not None)


def _default(entry: dict[str, Any]) -> str:
    value, unit = entry.get("default"), _UNITS.get(entry.get("examples", [""])[0])
    if value is None or isinstance(value, dict | list) or value == "":
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
