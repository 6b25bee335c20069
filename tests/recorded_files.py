"""What readers of files that are no lists of requests make of a text, for tests."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from tiersim.errors import TraceError
from tiersim.traces.readers.importing import detect_format, read_sources
from tiersim.traces.readers.recorded import Recorded

DATA = Path(__file__).parent / "data" / "logs"
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def read_text(folder: Path, text: str | bytes, *, key: str | None = None, name: str = "recorded") -> Recorded:
    """Read a file with this content as *key*, or as what it looks like."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_files(path, key=key)


def read_or_refused(folder: Path, text: bytes, key: str) -> Recorded | None:
    """Read a file that may be damaged; None when it was refused in a sentence that names it."""
    refused = ""
    try:
        return read_text(folder, text, key=key)
    except TraceError as error:
        refused = str(error)
    assert "recorded: " in refused
    return None


def read_files(*paths: Path, key: str | None = None) -> Recorded:
    """Read files as one recording."""
    found = [(path, key or detect_format(path)) for path in paths]
    return read_sources(found)


def statements(recorded: Recorded) -> list[dict[str, Any]]:
    """Return executions as rows of what is known of them."""
    rows = []
    for table in recorded.statements.tables():
        for place in range(len(table)):
            row: dict[str, Any] = {}
            for name, values in table.columns.items():
                value = int(values[place])
                if name in table.words:
                    if value >= 0:
                        row[name] = table.words[name][value]
                elif value != -1:
                    row[name] = value
            rows.append(row)
    return rows


def values(recorded: Recorded, subject: str, place: int = -1) -> dict[str, Mapping[str, Decimal | str]]:
    """Return what a snapshot says of a subject, by entity."""
    return {entity: found for (kind, entity), found in recorded.snapshots()[place].values.items() if kind == subject}


def texts(recorded: Recorded) -> dict[str, str]:
    """Return query texts by fingerprint."""
    return {str(query["query"]): str(query["text"]) for query in recorded.queries.values()}
