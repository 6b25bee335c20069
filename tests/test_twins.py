"""Twins stand for themselves: none takes over a kernel whose physics it repeats."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

TWINS = sorted((Path(__file__).parent / "twins").glob("[a-z]*.py"))
#: Draws are no physics: a hash of its own would only be drawn from differently.
_DRAWN = "tiersim.random_numbers"
#: The engines that twins are compared in, and how devices answer them.
_ENGINES = ("stand_in.py",)


def kernels_in(module: str) -> set[str]:
    """Functions of a module that are compiled."""
    file = import_module(module).__file__
    assert file is not None
    functions = [node for node in ast.walk(ast.parse(Path(file).read_text())) if isinstance(node, ast.FunctionDef)]
    return {node.name for node in functions if any("kernel" in ast.unparse(one) for one in node.decorator_list)}


@pytest.mark.parametrize("file", [file for file in TWINS if file.name not in _ENGINES], ids=lambda file: file.stem)
def test_a_twin_imports_no_kernel(file: Path) -> None:
    imports = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)]
    foreign = [node for node in imports if node.module and node.module.startswith("tiersim") and node.module != _DRAWN]
    for node in foreign:
        assert not str(node.module).endswith("_kernels")
        assert not {alias.name for alias in node.names} & kernels_in(str(node.module))
