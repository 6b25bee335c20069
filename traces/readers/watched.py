"""Files that change while they are read: what was imported of them may be neither what they were nor what they are."""

import os
from collections.abc import Iterable
from pathlib import Path

_State = tuple[int, int, int]


class Watched:
    """Files, and those in folders, as they are before they are read."""

    def __init__(self, paths: Iterable[Path]) -> None:
        """Note how they are now."""
        files = (file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path]))
        self._before = {file: _state(file) for file in files if file.is_file()}

    def changes(self) -> list[str]:
        """Say what became of them since, a sentence for each that is not what it was."""
        return [said for file, before in self._before.items() if (said := _change(file, before, _state(file)))]


def _state(file: Path) -> _State | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _change(file: Path, before: _State | None, now: _State | None) -> str:
    if now == before:
        return ""
    if now is None or before is None or now[0] != before[0]:
        return f"{file.name}: was removed or replaced while it was read; what it held before was read"
    if now[1] > before[1]:
        return (
            f"{file.name}: grew from {before[1]:,} to {now[1]:,} bytes while it was read; import it again when its"
            " recording has ended"
        )
    what = f"shrank from {before[1]:,} to {now[1]:,} bytes" if now[1] < before[1] else "was changed"
    return (
        f"{file.name}: {what} while it was read; what was read may be of before and after: import it again when nobody"
        " writes it"
    )
