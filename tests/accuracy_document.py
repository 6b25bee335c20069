"""The accuracy document as it stands: its measurements, its section on intervals, and the table that results are shown
with.

``python -m tests.accuracy_document`` makes section and table anew after other sections have changed, without running
anything.
"""

from collections.abc import Iterator
from pathlib import Path

from tiersim.scenarios.validation import interval_report
from tiersim.scenarios.validation.claims import Basis
from tiersim.scenarios.validation.intervals import Measurement

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT, TABLE = ROOT / "docs/accuracy.md", ROOT / "scenarios/validation/model_error.toml"
_HEADING = "\n## Intervals\n"


def measurements() -> list[Measurement]:
    """Return every measurement that stands in a table."""
    return [one for part in _without_intervals().split("\n## ")[1:] for one in _of_section(part.splitlines())]


def intervals() -> str:
    """Return the section on intervals."""
    return DOCUMENT.read_text(encoding="utf-8").partition(_HEADING)[2]


def _without_intervals() -> str:
    return DOCUMENT.read_text(encoding="utf-8").partition(_HEADING)[0]


def _of_section(lines: list[str]) -> Iterator[Measurement]:
    said = " ".join(lines)
    basis: Basis = next((one for one in interval_report.BASES if f"Basis: {one}." in said), "assumed")
    for before, table in _tables(lines):
        header, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
        if header[0] == "recorded":
            title = before.removesuffix(", off by %:")
            yield from interval_report.of_map(title, header[1:], ((row[0], row[1:]) for row in rows), basis)
            continue
        for row in rows:
            found = interval_report.measurement(lines[0], basis, dict(zip(header, row, strict=True)))
            if found is not None:
                yield found


def _tables(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the tables of a section, without their rules, and what stands above each."""
    above, table = "", list[str]()
    for line in [*lines, ""]:
        if line.startswith("|"):
            table += [line] if line.strip("|-: ") else []
        else:
            if table:
                yield above, table
                table = []
            above = line or above


if __name__ == "__main__":
    found = measurements()
    DOCUMENT.write_text(f"{_without_intervals().rstrip()}\n\n{interval_report.section(found)}", encoding="utf-8")
    TABLE.write_text(interval_report.as_toml(found), encoding="utf-8")
