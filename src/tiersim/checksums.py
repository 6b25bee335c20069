"""Checksums of a folder's files, kept in the JSON document that is written last and covers itself, too.

The document has a key ``checksums``: ``files``, the SHA-256 of each other file by its path, and ``self``, that of the
document with 64 zeros in place of this one.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

KEY, _FILES, _SELF = "checksums", "files", "self"
_OPEN = "0" * 64


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal; raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_of(folder: Path) -> dict[str, Path]:
    """Return the files in *folder* and below by their paths there, in order; hidden ones are no part of it."""
    found = ((path.relative_to(folder), path) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    visible = {name.as_posix(): path for name, path in found if not any(part.startswith(".") for part in name.parts)}
    return dict(sorted(visible.items()))


def checksums_of(folder: Path, document: str) -> dict[str, str]:
    """Return the checksums of all files of *folder* but that of the name *document*; raises OSError."""
    return {name: checksum(path) for name, path in files_of(folder).items() if name != document}


def sealed(document: Mapping[str, Any], checksums: Mapping[str, str]) -> bytes:
    """Return *document* as JSON, with the checksums of the files that it is written for, and its own."""
    whole = {**document, KEY: {_FILES: checksums, _SELF: _OPEN}}
    text = (json.dumps(whole, indent=1, sort_keys=True, default=str) + "\n").encode()
    return text.replace(_entry(_OPEN), _entry(_digest(text)))


def sealed_files(text: bytes) -> dict[str, str] | None:
    """Return the checksums in the *text* of a document, None when it was written without; raises ValueError saying what
    is wrong with it.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    found = document.get(KEY) if isinstance(document, dict) else None
    if (
        found is None and f'"{_SELF}": '.encode() not in text
    ):  # where only the name of the key is damaged it is no older one
        return None
    found = found if isinstance(found, dict) else {}
    own = found.get(_SELF)
    if not isinstance(own, str) or _digest(text.replace(_entry(own), _entry(_OPEN))) != own:
        raise ValueError("is not what its own checksum is of")
    files = found.get(_FILES)
    if not isinstance(files, dict):
        raise ValueError("has no checksums of files")
    return {str(name): str(digest) for name, digest in files.items()}


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _entry(own: str) -> bytes:
    return f'"{_SELF}": "{own}"'.encode(errors="replace")
