"""Which names of public classes stand twice: ``python -m tests.house.class_names``."""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_OWN = ("cli", "devices", "scenarios", "simulator", "traces", "src/tiersim")


def named_twice(root: Path = ROOT) -> dict[str, list[str]]:
    """Return the modules that define a public class, by its name, where it is not one module."""
    found: dict[str, list[str]] = {}
    for folder in _OWN:
        for path in sorted((root / folder).rglob("*.py")):  # which follows no links to folders
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(node.name, []).append(str(path.relative_to(root)))
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def main() -> int:
    """Print the names and their modules."""
    for name, modules in sorted(named_twice().items()):
        print(f"{name}: {', '.join(modules)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
