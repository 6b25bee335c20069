"""What a house with rooms has: ``python -m tests.house.rooms`` says how long modules are, which folders write a field,
and what kernels are given.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
_OWN = ("cli", "devices", "scenarios", "simulator", "traces", "src/tiersim/kernel")
#: A module has no more lines, and no fewer without a reason; a kernel no more parameters beside sets of tables.
MOST_LINES, LEAST_LINES, MOST_PARAMETERS = 800, 40, 6
#: Modules that are shorter, and why they are not part of another one.
SHORT = {
    "devices/host/processor.py": "a kind of the catalogue",
    "scenarios/calibration/fitting/search.py": "a search, which knows nothing of devices",
    "simulator/database/buffer_pool/frame_lists.py": "the lists of LRU, LRU-2 and rings",
    "simulator/database/buffer_pool/lru.py": "a policy; each has a module",
    "simulator/miss_ratios/knees.py": "an algorithm of a paper",
    "src/tiersim/kernel/versions.py": "what is changed when a version was tried",
    "traces/readers/clock.py": "a format; each has a module",
    "traces/readers/opencas.py": "a format; each has a module",
    "traces/readers/sqlserver/pool_size.py": "counters of two formats tell it",
    "traces/recorders/local_host.py": "recorders of servers and of blocks use it",
    "traces/recorders/own_queries.py": "queries of recorders that know nothing of each other",
    "traces/recorders/postgres/by_hand.py": "what is printed for others to run; it records nothing",
}

#: Fields that more than one folder of a subsystem writes, and why; no field is written by two subsystems.
SHARED = {
    "Plant.holds": "what the station that has a request keeps of it",
    "Plant.pool": "numbers: each station has a part of its own",
    "Plant.work_ns": "a figure of each station",
    "Plant.children": "what a station hands to the engine; it may lengthen the last one",
    "Plant.links": "lists of requests that wait: devices/requests.py",
    "Plant.queues": "lists of requests that wait: devices/requests.py",
    "Database.holds": "what the station that has a request keeps of it",
    "Database.checkpoint_mark": "a checkpoint asks for a page; whoever writes it first says so",
    "Database.written_files": "whoever writes a page of a file; a checkpoint syncs it",
    "Database.sessions": "pages that are touched are charged to the session",
}


@dataclass
class Rooms:
    """Lines by module, and those that only say what a package has; folders by the field that their kernels write; sets
    of tables, and other parameters, by kernel.
    """

    lines: dict[str, int] = field(default_factory=dict)
    fronts: set[str] = field(default_factory=set)
    writers: dict[str, set[str]] = field(default_factory=dict)
    sets: dict[str, set[str]] = field(default_factory=dict)
    untouched: dict[str, set[str]] = field(default_factory=dict)
    parameters: dict[str, int] = field(default_factory=dict)

    def long(self) -> set[str]:
        """Return the modules that are too long."""
        return {name for name, lines in self.lines.items() if lines > MOST_LINES}

    def short(self) -> set[str]:
        """Return the modules that are short."""
        return {name for name, lines in self.lines.items() if lines < LEAST_LINES} - self.fronts

    def shared(self) -> dict[str, set[str]]:
        """Return the fields that several folders write, without a reason or in several subsystems."""
        several = {name: folders for name, folders in self.writers.items() if len(folders) > 1}
        return {
            name: folders
            for name, folders in several.items()
            if len({_subsystem(folder) for folder in folders}) > 1 or ".".join(name.split(".")[:2]) not in SHARED
        }

    def unused(self) -> dict[str, set[str]]:
        """Return the sets that kernels take and do not touch."""
        return {name: sets for name, sets in self.untouched.items() if sets}

    def wide(self) -> dict[str, int]:
        """Return the kernels that take too many parameters."""
        return {name: count for name, count in self.parameters.items() if count > MOST_PARAMETERS}


def look(root: Path = ROOT) -> Rooms:
    """Read every module."""
    found = Rooms()
    trees = {}
    for folder in _OWN:
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            name = str(path.relative_to(root))
            found.lines[name] = text.count("\n")
            if found.lines[name] >= LEAST_LINES and "@kernel" not in text and "@table_set" not in text:
                continue
            trees[name] = ast.parse(text)
            if all(isinstance(node, ast.Expr | ast.Import | ast.ImportFrom | ast.Assign) for node in trees[name].body):
                found.fronts.add(name)
    named = [
        (name, node)
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]
    sets = {node.name: _fields(node) for _, node in named if isinstance(node, ast.ClassDef) and _has(node, "table_set")}
    kernels = [(name, node) for name, node in named if isinstance(node, ast.FunctionDef) and _has(node, "kernel")]
    arrays: dict[str, set[int]] = {}
    for _, node in kernels:
        arrays.setdefault(node.name, set()).update(_written_arrays(node))
    for name, node in kernels:
        _kernel(found, name, node, sets, arrays)
    return found


def _subsystem(folder: str) -> str:
    """Return which part of the project a folder is of: ``devices``, ``simulator/database``."""
    parts = Path(folder).parts
    return "/".join(parts[: 1 if parts[0] == "devices" else 2])


def _fields(node: ast.ClassDef) -> dict[str, str]:
    """Return the annotations of a class by field."""
    fields = (one for one in node.body if isinstance(one, ast.AnnAssign))
    return {one.target.id: _annotation(one.annotation) for one in fields if isinstance(one.target, ast.Name)}


def _has(node: ast.FunctionDef | ast.ClassDef, decorator: str) -> bool:
    named = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
    return any(isinstance(one, ast.Name) and one.id == decorator for one in named)


def _kernel(
    found: Rooms,
    module: str,
    node: ast.FunctionDef,
    sets: Mapping[str, Mapping[str, str]],
    arrays: Mapping[str, set[int]],
) -> None:
    arguments = {one.arg: _annotation(one.annotation) for one in node.args.args}
    own = {name: kind for name, kind in arguments.items() if kind in sets}
    kernel = f"{module}:{node.name}"
    found.sets[kernel] = set(own.values())
    found.parameters[kernel] = len(arguments) - len(own)
    used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    found.untouched[kernel] = {kind for name, kind in own.items() if name not in used}
    for written in _Places(node, own, sets).written(arrays):
        found.writers.setdefault(written, set()).add(str(Path(module).parent))


def _written_arrays(node: ast.FunctionDef) -> Iterator[int]:
    """Yield the positions of the arguments that a kernel assigns to items of."""
    items = {target.value.id for target in _targets(node) if isinstance(target.value, ast.Name)}
    yield from (position for position, one in enumerate(node.args.args) if one.arg in items)


def _targets(node: ast.AST) -> Iterator[ast.Subscript]:
    """Yield the items that are assigned to."""
    for one in ast.walk(node):
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AugAssign) else []
        for target in targets:
            yield from (part for part in _parts(target) if isinstance(part, ast.Subscript))


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _annotation(node: ast.expr | None) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return str(node.value) if isinstance(node, ast.Constant) else ""


class _Places:
    """What the names in a kernel stand for: sets of tables, tables, rows of them."""

    def __init__(self, node: ast.FunctionDef, own: Mapping[str, str], sets: Mapping[str, Mapping[str, str]]) -> None:
        self._node, self._own, self._sets = node, dict(own), sets
        self._rows: dict[str, str] = {}
        for one in ast.walk(node):
            if isinstance(one, ast.Assign) and len(one.targets) == 1:
                for target, value in zip(_parts(one.targets[0]), _parts(one.value), strict=False):
                    if isinstance(target, ast.Name):
                        self._name(target.id, value)

    def _name(self, name: str, value: ast.expr) -> None:
        kind, table = self._set(value), self._table(value)
        if kind is not None:
            self._own[name] = kind
        elif table is not None:
            self._rows[name] = table

    def written(self, arrays: Mapping[str, set[int]]) -> Iterator[str]:
        """Yield the fields that the kernel assigns to, ``Set.table`` or ``Set.table.column`` of a table of records:
        also by a row that has a name, in a set within a set, and by handing a table to a kernel that writes into that
        argument (*arrays*: positions by kernel).
        """
        places: list[ast.expr] = [*_targets(self._node)]
        for one in ast.walk(self._node):
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Name):
                places += (one.args[position] for position in arrays.get(one.func.id, ()) if position < len(one.args))
        yield from (table for table in map(self._table, places) if table is not None)

    def _set(self, node: ast.expr) -> str | None:
        """Return which set of tables an expression is."""
        if isinstance(node, ast.Name):
            return self._own.get(node.id)
        if not isinstance(node, ast.Attribute):
            return None
        kind = self._sets.get(self._set(node.value) or "", {}).get(node.attr)
        return kind if kind in self._sets else None

    def _table(self, node: ast.expr) -> str | None:
        """Return which table, or column of one, an expression is a place of."""
        column = ""
        while isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                column = f".{node.slice.value}"
            node = node.value
        if isinstance(node, ast.Attribute):
            kind = self._set(node.value)
            return None if kind is None or self._set(node) is not None else f"{kind}.{node.attr}{column}"
        if isinstance(node, ast.Name) and node.id in self._rows:
            return self._rows[node.id] + column
        return None


def main() -> int:
    """Print what does not fit."""
    found = look()
    short, many, unused, wide = found.short(), found.shared(), found.unused(), found.wide()
    print(
        f"{len(found.lines)} modules, {len(found.long())} above {MOST_LINES} lines, {len(short)} under {LEAST_LINES}:"
    )
    for name in sorted(short):
        print(f"  {name}: {SHORT.get(name, 'why?')}")
    print(f"{len(found.writers)} fields are written by kernels, {len(many)} from more than one folder")
    for name, folders in sorted(many.items()):
        print(f"  {name}: {' '.join(sorted(folders))}")
    print(
        f"{len(found.sets)} kernels, {len(unused)} take a set that they do not touch, {len(wide)} more than"
        f" {MOST_PARAMETERS} parameters beside sets"
    )
    for name, count in sorted(wide.items(), key=lambda one: -one[1]):
        print(f"  {name}: {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
