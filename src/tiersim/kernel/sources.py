"""The syntax tree of a kernel's function, and what its names mean."""

import ast
import builtins
import linecache
from collections.abc import Callable
from typing import Any

from tiersim.kernel import stamp, stamps


def tree_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return the syntax tree of a function. Raises RuntimeError where its source was edited since it was loaded."""
    code = function.__code__
    file = code.co_filename
    if stamp(file) != stamps.get(file):
        raise RuntimeError(f"{file} was edited since it was loaded; start anew to compile {code.co_name}")
    lines = linecache.getlines(file, function.__globals__)
    first = code.co_firstlineno - 1
    last = max(end for _, end, _, _ in code.co_positions() if end is not None)
    while last < len(lines) and lines[last].lstrip().startswith(
        (")", "]")
    ):  # what code says of a bracket is its inside
        last += 1
    text = "".join(lines[first:last])
    module = ast.parse(f"if 1:\n{text}" if text[0].isspace() else text)
    tree = module.body[0].body[0] if isinstance(module.body[0], ast.If) else module.body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def meaning(function: Callable[..., Any], name: str) -> Any:
    """Return what a name that is not a variable stands for in a function."""
    code = function.__code__
    if name in code.co_freevars:
        return (function.__closure__ or ())[code.co_freevars.index(name)].cell_contents
    if name in function.__globals__:
        return function.__globals__[name]
    return getattr(builtins, name)
