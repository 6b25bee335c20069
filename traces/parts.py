"""The files of a bundle, which anybody may have made: they lie in it, and are files."""

from pathlib import Path

from tiersim.errors import TraceError


def part_of(folder: Path, name: str) -> Path:
    """Return the path of the part *name*, a file or a folder, of the bundle in *folder*, whether it is there or not.

    Raises TraceError when it is a link to somewhere else, so that nothing of this computer can be taken for part of a
    recording, or a pipe or device, which never end.
    """
    path = folder / name
    if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
        raise TraceError(f"{path}: is a link that leads out of its bundle; put the file itself there")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise TraceError(f"{path}: is no file; write or import it again")
    return path
