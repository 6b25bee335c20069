"""Small files of each format that together reach what can be reached of its reader; they are what is damaged."""

import ast
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"


def path_of(key: str) -> Path:
    """Return the file that keeps those of a format: a line each, as Python writes bytes."""
    return FOLDER / f"{key}.txt"


@cache
def corpus(key: str) -> tuple[bytes, ...]:
    """Return the files of a format; none where nobody has collected any."""
    path = path_of(key)
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    return tuple(ast.literal_eval(line) for line in lines)


def keep(key: str, files: list[bytes]) -> None:
    """Write the files of a format, in place of what is there."""
    path_of(key).write_text("".join(f"{data!r}\n" for data in files), encoding="ascii")
    corpus.cache_clear()
