"""Parts of a document that a program writes: between two comments that name them."""

import re
from collections.abc import Mapping
from pathlib import Path

_PART = re.compile(r"<!-- (?P<name>[\w -]+): begin -->\n.*?<!-- (?P=name): end -->\n?", re.DOTALL)


def between(text: str, name: str) -> str:
    """Return what stands between the marks of *name*."""
    return text.partition(f"<!-- {name}: begin -->\n")[2].partition(f"<!-- {name}: end -->")[0]


def replaced(text: str, name: str, part: str) -> str:
    """Return *text* with *part* between the marks of *name*."""
    before, begin, rest = text.partition(f"<!-- {name}: begin -->\n")
    _, end, after = rest.partition(f"<!-- {name}: end -->")
    return before + begin + part + end + after


def write(document: Path, parts: Mapping[str, str]) -> None:
    """Put *parts* of a document between their marks."""
    text = document.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = replaced(text, name, part)
    document.write_text(text, encoding="utf-8")


def names(text: str) -> list[str]:
    """Return the names of all such parts."""
    return [found["name"] for found in _PART.finditer(text)]


def without(text: str) -> str:
    """Return what is left of *text* without such parts."""
    return _PART.sub("", text)
