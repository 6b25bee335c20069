"""What has another name in this tree than in the other, as ``renamed.toml`` says it."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("renamed.toml")


@dataclass(frozen=True)
class Names:
    """Patterns of whole names of the base with what stands for each here; patterns of what is only there, and of what
    is only here.
    """

    renamed: tuple[tuple[re.Pattern[str], str], ...]
    gone: tuple[re.Pattern[str], ...]
    new: tuple[re.Pattern[str], ...]

    def of_base(self, name: str) -> str | None:
        """Return what a name of the base is here; None where it is gone."""
        for pattern, here in self.renamed:
            found = pattern.fullmatch(name)
            if found:
                name = found.expand(here)
        return None if _matches(self.gone, name) else name

    def of_here(self, name: str) -> str | None:
        """Return a name of this tree; None where the base has none."""
        return None if _matches(self.new, name) else name


def _matches(patterns: Iterable[re.Pattern[str]], name: str) -> bool:
    return any(pattern.fullmatch(name) for pattern in patterns)


def read_names(path: Path = FILE) -> Names:
    """Read the file of names."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    return Names(
        tuple((re.compile(there), here) for there, here in found["renamed"].items()),
        tuple(map(re.compile, found["gone"])),
        tuple(map(re.compile, found["new"])),
    )
