"""Two folders of what was noted, side by side."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Tests of what a clock decides: how far a server, a browser or Ctrl-C comes. Two runs of one tree differ in them.
CLOCKED = (
    "test_explore_page::",
    "test_record_mysql::",
    "test_record_postgres::",
    "test_sweeps::test_interrupted_it_goes_on",
)
#: What was noted of a test, by its kind and place.
Noted = Mapping[str, Any]


@dataclass(frozen=True)
class Compared:
    """How many things are the same, what differs, a sentence each, and the tests that only one tree has."""

    same: int
    tests: int
    different: tuple[str, ...]
    only_base: tuple[str, ...]
    only_here: tuple[str, ...]


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """Read what was noted, by test; runs side by side end in any order, so digests of a kind are sorted."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            test, what, noted = json.loads(line)
            found.setdefault(test, {})[what] = noted
    return {test: _in_order(noted) for test, noted in found.items()}


def _in_order(noted: Noted) -> dict[str, Any]:
    kinds: dict[str, list[str]] = {}
    for what, digest in noted.items():
        if isinstance(digest, str):
            kinds.setdefault(what.partition(" ")[0], []).append(digest)
    ordered = {kind: iter(sorted(digests)) for kind, digests in kinds.items()}
    return {
        what: next(ordered[what.partition(" ")[0]]) if isinstance(digest, str) else digest
        for what, digest in noted.items()
    }


def compare(base: Mapping[str, Noted], here: Mapping[str, Noted]) -> Compared:
    """Hold both side by side, test by test. Tests in CLOCKED are left out."""
    both = sorted(test for test in base.keys() & here.keys() if not test.startswith(CLOCKED))
    different = tuple(sentence for test in both for sentence in _differences(test, base[test], here[test]))
    same = sum(base[test].get(what) == noted for test in both for what, noted in here[test].items())
    return Compared(
        same, len(both), different, tuple(sorted(base.keys() - here.keys())), tuple(sorted(here.keys() - base.keys()))
    )


def _differences(test: str, base: Noted, here: Noted) -> Iterator[str]:
    for what in [*base, *(one for one in here if one not in base)]:
        there, own = base.get(what), here.get(what)
        if there == own:
            continue
        if isinstance(there, dict) and isinstance(own, dict):
            names = [name for name in sorted(there.keys() | own.keys()) if there.get(name) != own.get(name)]
            for name in names:
                of = "" if name in there and name in own else " only here" if name in own else " only in the base"
                yield f"{test}: {what}: {name}{of}"
        elif there is None or own is None:
            yield f"{test}: {what}: only {'here' if there is None else 'in the base'}"
        else:
            yield f"{test}: {what}"
