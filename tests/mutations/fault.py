"""What a fault is."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Fault:
    """*old* stands once in *file*; with *new* in its place what *wrong* says is so, and one of *tests* fails.

    *file* is a path from the project's root, *tests* are node ids of pytest without parameters.
    """

    name: str
    file: str
    old: str
    new: str
    wrong: str
    tests: tuple[str, ...]

    def applies(self, root: Path = ROOT) -> bool:
        """Tell whether the old text stands exactly once in the file."""
        return (root / self.file).read_text().count(self.old) == 1

    def make(self, root: Path) -> None:
        """Make the fault in the tree at *root*."""
        file = root / self.file
        file.write_text(file.read_text().replace(self.old, self.new))
