"""DiskSim's parameter files: blocks of ``name = value``, values in ``[ ]``, and ``source FILE`` in a value's place.

The grammar is that of libparam (DiskSim 4.0 reference manual, CMU-PDL-08-101, section 3). A system file (``.parv``)
names the files of its drives (``source x.diskspecs``), these name their geometry (``Model = source x.model``) and its
seek curve.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from tiersim.errors import ScenarioError
from tiersim.toml_files import read_text

_TOKEN = re.compile(r"#[^\n]*|(?P<mark>[{}\[\],=])|(?P<words>[^{}\[\],=\n#]+)")
#: Files name each other; nobody needs more than this.
_MOST_NESTED = 8

#: No number of sectors, and no time in ms, is plausible above this.
_MOST = 1e10


def is_number(value: object) -> TypeGuard[int | float]:
    """Tell whether *value* is a number that a parameter may have."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST


@dataclass(frozen=True)
class ParameterBlock:
    """``TYPE NAME { key = value, ... }``; ``type`` is empty where a file leaves it out.

    ``asked`` are the keys that were looked up.
    """

    type: str
    name: str
    values: dict[str, Any]
    path: Path
    line: int
    asked: set[str] = field(default_factory=set, compare=False)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value as it was read, or the default."""
        self.asked.add(key)
        return self.values.get(key, default)

    def number(self, key: str, default: float | None = None) -> float:
        """A number that must be there unless it has a default; raises ScenarioError."""
        value = self.get(key, default)
        if not is_number(value):
            what = "is not there" if value is None else f"is {value!r}, not a number"
            raise ScenarioError(f"{self.path}:{self.line}: {key!r} {what} in {self.type} {self.name}".rstrip())
        return value

    def whole(self, key: str, default: int | None = None) -> int:
        """A whole number; raises ScenarioError."""
        value = self.number(key, default)
        if value != int(value):
            raise ScenarioError(f"{self.path}:{self.line}: {key!r} is {value}, not a whole number; correct the file")
        return int(value)

    def block(self, key: str) -> "ParameterBlock":
        """A block that must be there; raises ScenarioError."""
        value = self.get(key)
        if not isinstance(value, ParameterBlock):
            raise ScenarioError(
                f"{self.path}:{self.line}: the block {key!r} is not there in {self.type} {self.name}; add it"
            )
        return value


def read_blocks(path: Path) -> list[ParameterBlock]:
    """Every block of a file and of the files that it names; raises ScenarioError naming file and line."""
    try:
        return list(_Reader(path, 0).blocks())
    except RecursionError:
        raise ScenarioError(
            f"{path}: blocks or lists are nested too deeply; it is not a parameter file of DiskSim 3 or 4"
        ) from None


def file_beside(path: Path, name: str) -> Path:
    """Return the file *name* in the folder of *path*, or a folder in that; raises ValueError when it is elsewhere or
    not there.
    """
    relative = Path(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise ValueError("is not in the folder of the file that names it")
    try:
        found = (path.parent / relative).is_file()
    except OSError:  # no file can have such a name
        found = False
    if not found:
        raise ValueError("is no file beside it")
    return path.parent / relative


class _Reader:
    def __init__(self, path: Path, nested: int) -> None:
        if nested > _MOST_NESTED:
            raise ScenarioError(f"{path}: files that name each other go deeper than {_MOST_NESTED}; one names itself")
        self._path, self._nested = path, nested
        self._tokens = list(_tokens(read_text(path)))
        self._at = 0

    def blocks(self) -> Iterator[ParameterBlock]:
        """Top-level blocks; what instantiates and connects components is passed over."""
        while self._at < len(self._tokens):
            words, line = self._tokens[self._at]
            self._at += 1
            if words.startswith("source "):
                yield from self._named(words, line).blocks()
            elif self._peek() == "{":
                yield self._block(words, line)
            elif words.split()[0] in ("instantiate", "topology"):
                self._skip()
            elif words not in ("]", "[", ","):
                raise self._problem(line, f"{words[:60]!r} is no block and no instantiation")

    def _peek(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _next(self) -> tuple[str, int]:
        if self._at >= len(self._tokens):
            raise self._problem(self._tokens[-1][1] if self._tokens else 1, "the file ends within a block")
        self._at += 1
        return self._tokens[self._at - 1]

    def _skip(self) -> None:
        """Pass over a list in brackets, and a name behind it."""
        depth = 0
        while self._at < len(self._tokens):
            mark = self._next()[0]
            depth += (mark == "[") - (mark == "]")
            if mark == "]" and depth == 0:
                break
        if self._peek().startswith("as "):
            self._at += 1

    def _block(self, words: str, line: int) -> ParameterBlock:
        self._next()
        type_, _, name = words.partition(" ")
        values: dict[str, Any] = {}
        while self._peek() != "}":
            key, at = self._next()
            if key == ",":
                continue
            mark, _ = self._next()
            if mark != "=":
                raise self._problem(at, f"{key[:60]!r} is not followed by '=' but by {mark[:20]!r}")
            values[key] = self._value()
        self._next()
        return ParameterBlock(type_, name.strip(), values, self._path, line)

    def _value(self) -> Any:
        words, line = self._next()
        if words == "[":
            return self._list()
        if words.startswith("source "):
            found = next(self._named(words, line).blocks(), None)
            if found is None:
                raise self._problem(line, f"{words[7:]!r} holds no block")
            return found
        if words in "{}],=":
            raise self._problem(line, f"a value is expected, not {words!r}")
        if self._peek() == "{":
            return self._block(words, line)
        for kind in (int, float):
            try:
                return kind(words)
            except ValueError:
                continue
        return words

    def _list(self) -> list[Any]:
        values = []
        while self._peek() != "]":
            if self._peek() == ",":
                self._next()
            else:
                values.append(self._value())
        self._next()
        return values

    def _named(self, words: str, line: int) -> "_Reader":
        """Return the reader of the file that ``source FILE`` names."""
        name = words.split(None, 1)[1]
        try:
            return _Reader(file_beside(self._path, name), self._nested + 1)
        except ValueError as error:
            raise self._problem(line, f"{name[:60]!r} {error}") from None

    def _problem(self, line: int, what: str) -> ScenarioError:
        return ScenarioError(f"{self._path}:{line}: {what}; it is not a parameter file of DiskSim 3 or 4")


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """Marks and runs of words, with the line that each begins in."""
    line, reached = 1, 0
    for match in _TOKEN.finditer(text):
        words = (match["mark"] or match["words"] or "").strip()
        line += text.count("\n", reached, match.start())
        reached = match.start()
        if words:
            yield words, line
