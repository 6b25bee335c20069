"""Which settings are written twice: ``python -m tests.house.settings`` says where fields are carried by hand from one
record to another of the same names.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Where settings become rows: scenarios' models, dataclasses, builders.
_OWN = ("devices", "scenarios", "simulator")
#: So many fields carried in one place are a record written twice.
LEAST = 3
_DOCUMENT = "a document whose keys readers know, whatever the record is called within"
_INPUT = "a model of what people write becomes a record: most of its fields are changed on the way"
_ROW = "columns beside them are computed, and fields may be unset"
_PART = "one record hands on what another asks for, beside fields of its own"
#: Places that still copy fields by hand, and why.
KEPT = {
    "devices/hdd/hdd_geometry.py:zone_rows from zone": _ROW,
    "devices/ssd/flash.py:add_flash from drive": _ROW,
    "devices/ssd/ftl.py:add_ftl from mapping": _ROW,
    "scenarios/controllers.py:with_name from self": _INPUT,
    "scenarios/hardware.py:_hardware from model": _INPUT,
    "scenarios/hardware.py:_host from model": _INPUT,
    "scenarios/miss_ratios/document.py:_distances from asked": _PART,
    "scenarios/miss_ratios/document.py:_head from asked": _DOCUMENT,
    "scenarios/miss_ratios/document.py:_head from manifest": _DOCUMENT,
    "scenarios/miss_ratios/document.py:_simulated from asked": _PART,
    "scenarios/replay.py:_checkpoints from one": _DOCUMENT,
    "scenarios/replay.py:_described from scenario.model.replay": _DOCUMENT,
    "scenarios/replay.py:trace_of from found": _DOCUMENT,
    "scenarios/replay.py:trace_of from found.manifest": _DOCUMENT,
    "scenarios/sizing/cost.py:document from self": _DOCUMENT,
    "scenarios/sizing/load_limit.py:document from curve": _DOCUMENT,
    "scenarios/sizing/prices.py:_prices_have_a_date from self": "a check that goes through prices by name",
    "scenarios/statements/assembly.py:_place from law": _PART,
    "scenarios/statements/assembly.py:host_of from of_engine": _PART,
    "scenarios/statements/assembly.py:host_of from settings": _PART,
    "scenarios/statements/calibration.py:_as_counted from host": _PART,
    "scenarios/statements/innodb.py:_innodb from cleaner": _DOCUMENT,
    "scenarios/statements/programs.py:write_program from classes": _PART,
    "scenarios/statements/replay.py:trace_of from load": _DOCUMENT,
    "scenarios/statements/replay.py:trace_of from load.manifest": _DOCUMENT,
    "scenarios/statements/settings.py:engine from self": _DOCUMENT,
    "scenarios/survey.py:survey from bundle": _PART,
    "scenarios/sweeps/runner.py:plan_of from axis": _DOCUMENT,
    "scenarios/validation/innodb_bench.py:run from self": _PART,
    "scenarios/validation/pair_figures.py:_pair from said": _PART,
    "scenarios/validation/report.py:_claim from claim": _DOCUMENT,
    "scenarios/validation/report.py:document from found": _DOCUMENT,
    "scenarios/workloads/assembly.py:_settings from said": _INPUT,
    "scenarios/workloads/assembly.py:built from model": _INPUT,
    "simulator/database/build.py:_with_indexes from relation": _PART,
    "simulator/database/build.py:_columns from statements": "arrays, not settings",
    "simulator/verdict.py:describe_credits from balance": _DOCUMENT,
    "simulator/verdict.py:describe_load from judged": _DOCUMENT,
}


def carried(tree: ast.Module) -> dict[str, list[str]]:
    """Return the fields that are carried under their own name, ``name=settings.name`` or ``"name": settings.name``, by
    the function and what they are carried from.
    """
    found: dict[str, list[str]] = {}
    for function, node in _in_functions(tree):
        for name, value in _pairs(node):
            source = _carried_from(name, value)
            if source is not None:
                found.setdefault(f"{function} from {source}", []).append(name)
    return found


def _in_functions(tree: ast.AST, function: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield each node with the name of the function that it is in."""
    for node in ast.iter_child_nodes(tree):
        inner = node.name if isinstance(node, ast.FunctionDef) else function
        yield inner, node
        yield from _in_functions(node, inner)


def _pairs(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a call or a dictionary gives to values."""
    if isinstance(node, ast.Call):
        yield from ((one.arg, one.value) for one in node.keywords if one.arg is not None)
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value


def _carried_from(name: str, value: ast.expr) -> str | None:
    """Return what a value is the field *name* of, whether or not it is made whole or 0 where it is None."""
    if isinstance(value, ast.Call) and len(value.args) == 1 and isinstance(value.func, ast.Name):
        value = value.args[0]
    if isinstance(value, ast.BoolOp):
        value = value.values[0]
    return ast.unparse(value.value) if isinstance(value, ast.Attribute) and value.attr == name else None


def written_twice(root: Path = ROOT) -> dict[str, list[str]]:
    """Return the fields that are carried, by module, function and source, where there are so many of them."""
    return {
        f"{path.relative_to(root)}:{place}": names
        for folder in _OWN
        for path in sorted((root / folder).rglob("*.py"))
        for place, names in carried(ast.parse(path.read_text(encoding="utf-8"))).items()
        if len(names) >= LEAST
    }


def main() -> int:
    """Print where fields are carried, most first."""
    found = written_twice()
    for place, names in sorted(found.items(), key=lambda one: -len(one[1])):
        print(f"{len(names)}  {place}: {' '.join(names)}: {KEPT.get(place, 'why?')}")
    folders = Counter(place.split("/")[0] for place, names in found.items() for _ in names)
    print(f"{sum(folders.values())} fields in {len(found)} places: {dict(folders)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
