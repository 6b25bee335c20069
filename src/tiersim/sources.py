"""Which sources a module is made of: a hash that is the same where the same version runs."""

import hashlib
import re
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parent
_IMPORTS = re.compile(rb"^from +(tiersim[\w.]*) +import +(\([^)]*\)|[^\n]*)|^import +(tiersim[\w.]*)", re.MULTILINE)
_WORD = re.compile(rb"\w+")


@cache
def _file_of(module: str) -> Path | None:
    path = _ROOT.joinpath(*module.split(".")[1:])
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file.resolve() for file in files if file.is_file()), None)


@cache
def _imported(file: Path) -> frozenset[Path]:
    """Return the files of this package that *file* imports when it is loaded."""
    names = set()
    for source, parts, whole in _IMPORTS.findall(file.read_bytes()):
        module = (source or whole).decode()
        names.add(module)
        names |= {f"{module}.{part.decode()}" for part in _WORD.findall(parts)}
    return frozenset(found for found in map(_file_of, names) if found is not None)


@cache
def sources_hash(file: Path) -> str:
    """Return a hash of the contents of *file* and of all that it imports of this package, directly or not."""
    found, left = {file}, [file]
    while left:
        new = _imported(left.pop()) - found
        found |= new
        left += new
    digest = hashlib.blake2b(digest_size=8)
    for content in sorted(hashlib.blake2b(path.read_bytes()).digest() for path in found):
        digest.update(content)
    return digest.hexdigest()
