"""What a house with rooms has: ``python -m tests.house.rooms`` says how long modules are, which folders write a field, and what kernels are given."""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
_OWN = ("cli", "devices", "scenarios", "simulator", "traces", "src/tiersim/kernel")
#: A module has no more lines, and no fewer without a reason; a kernel no more parameters beside sets of tables.
MOST_LINES, LEAST_LINES, MOST_PARAMETERS = 800, 40, 6


@dataclass
class Rooms:
    """Lines by module; folders by the field that their kernels write; sets of tables, and other parameters, by kernel."""

    lines: dict[str, int] = field(default_factory=dict)
    writers: dict[str, set[str]] = field(default_factory=dict)
    sets: dict[str, set[str]] = field(default_factory=dict)
    untouched: dict[str, set[str]] = field(default_factory=dict)
    parameters: dict[str, int] = field(default_factory=dict)


def look(root: Path = ROOT) -> Rooms:
    """Read every module."""
    found = Rooms()
    trees = {}
    for folder in _OWN:
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            name = str(path.relative_to(root))
            found.lines[name] = text.count("\n")
            trees[name] = ast.parse(text)
    sets = {
        node.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and _has(node, "table_set")
    }
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and _has(node, "kernel"):
                _kernel(found, name, node, sets)
    return found


def _has(node: ast.FunctionDef | ast.ClassDef, decorator: str) -> bool:
    named = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
    return any(isinstance(one, ast.Name) and one.id == decorator for one in named)


def _kernel(found: Rooms, module: str, node: ast.FunctionDef, sets: set[str]) -> None:
    arguments = {one.arg: _annotation(one.annotation) for one in node.args.args}
    own = {name: kind for name, kind in arguments.items() if kind in sets}
    kernel = f"{module}:{node.name}"
    found.sets[kernel] = set(own.values())
    found.parameters[kernel] = len(arguments) - len(own)
    used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    found.untouched[kernel] = {kind for name, kind in own.items() if name not in used}
    for written in _written(node, own):
        found.writers.setdefault(written, set()).add(str(Path(module).parent))


def _annotation(node: ast.expr | None) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return str(node.value) if isinstance(node, ast.Constant) else ""


def _written(node: ast.FunctionDef, sets: Mapping[str, str]) -> Iterator[str]:
    """Yield the fields that a kernel assigns to: ``Set.table``, or ``Set.table.column`` of a table of records, also by a row that has a name."""
    rows: dict[str, str] = {}
    for one in ast.walk(node):
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
            table = _table(one.value, sets, rows)
            if table is not None:
                rows[one.targets[0].id] = table
    for one in ast.walk(node):
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AugAssign) else []
        for target in targets:
            table = _table(target, sets, rows) if isinstance(target, ast.Subscript) else None
            if table is not None:
                yield table


def _table(node: ast.expr, sets: Mapping[str, str], rows: Mapping[str, str]) -> str | None:
    """Return which table, or column of one, an expression is a place of."""
    column = ""
    while isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            column = f".{node.slice.value}"
        node = node.value
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in sets:
        return f"{sets[node.value.id]}.{node.attr}{column}"
    if isinstance(node, ast.Name) and node.id in rows:
        return rows[node.id] + column
    return None


def main() -> int:
    """Print what does not fit."""
    found = look()
    long = {name: lines for name, lines in found.lines.items() if lines > MOST_LINES}
    short = {name: lines for name, lines in found.lines.items() if 1 < lines < LEAST_LINES}
    many = {name: folders for name, folders in found.writers.items() if len(folders) > 1}
    unused = {name: sets for name, sets in found.untouched.items() if sets}
    wide = {name: count for name, count in found.parameters.items() if count > MOST_PARAMETERS}
    print(
        f"{len(found.lines)} modules, {len(long)} above {MOST_LINES} lines, {len(short)} under {LEAST_LINES}: {' '.join(sorted(short))}"
    )
    print(f"{len(found.writers)} fields are written by kernels, {len(many)} from more than one folder")
    for name, folders in sorted(many.items()):
        print(f"  {name}: {' '.join(sorted(folders))}")
    print(
        f"{len(found.sets)} kernels, {len(unused)} take a set that they do not touch, {len(wide)} more than {MOST_PARAMETERS} parameters beside sets"
    )
    for name, count in sorted(wide.items(), key=lambda one: -one[1]):
        print(f"  {name}: {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
