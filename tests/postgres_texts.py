"""Writes rows as COPY and psql write them, for tests: a naive twin of psql's printing."""

import csv
import io
import json
from collections.abc import Callable, Sequence

Rows = Sequence[dict[str, str | None]]


def as_csv(rows: Rows, delimiter: str = ",", end: str = "\n") -> str:
    """COPY ... CSV HEADER: null is nothing, the empty text is in quotes."""

    def value(text: str | None) -> str:
        if text is None:
            return ""
        special = text == "" or any(sign in text for sign in (delimiter, '"', "\n", "\r"))
        return '"' + text.replace('"', '""') + '"' if special else text

    return "".join(
        delimiter.join(line) + end for line in [list(rows[0]), *([value(v) for v in row.values()] for row in rows)]
    )


def as_python_csv(rows: Rows) -> str:
    """What Python's csv module writes with everything in quotes, as pgAdmin does."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerows([list(rows[0]), *([v or "" for v in row.values()] for row in rows)])
    return out.getvalue()


def as_json_list(rows: Rows) -> str:
    return json.dumps(list(rows), ensure_ascii=False)


def as_json_lines(rows: Rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def as_json_document(rows: Rows) -> str:
    return json.dumps({"server": "here", "views": {"a_view": list(rows)}}, indent=2)


def as_unaligned(rows: Rows) -> str:
    return "\n".join("|".join(line) for line in _lines(rows)) + f"\n({len(rows)} rows)\n"


def _lines(rows: Rows) -> list[list[str]]:
    return [list(rows[0]), *([value or "" for value in row.values()] for row in rows)]


def as_aligned(rows: Rows, border: int) -> str:
    table = _lines(rows)
    widths = [max(len(part) for line in table for part in line[i].split("\n")) for i in range(len(table[0]))]
    pad = " " if border else ""

    def cell(part: str, width: int, sign: str) -> str:
        return f"{pad}{part:<{width}}{sign if border else ''}" + ("" if border else sign)

    def printed(line: list[str]) -> str:
        parts = [value.split("\n") for value in line]
        out = []
        for i in range(max(map(len, parts))):
            cells = [
                cell(p[i] if i < len(p) else "", w, "+" if i + 1 < len(p) else " ")
                for p, w in zip(parts, widths, strict=True)
            ]
            text = ("|" if border else "").join(cells)
            out.append(f"|{text}|" if border == 2 else text.rstrip(" ") + (" " if not text.strip() else ""))
        return "\n".join(out)

    rule = ("+" if border else " ").join("-" * (w + 2 * bool(border)) for w in widths)
    framed = f"+{rule}+\n" if border == 2 else ""
    body = "\n".join(printed(line) for line in table[1:])
    return f"{framed}{printed(table[0])}\n{framed or rule + chr(10)}{body}\n{framed}({len(rows)} rows)\n\n"


def as_expanded(rows: Rows, border: int) -> str:
    names = max(len(name) for name in rows[0])
    values = max(len(part) for line in _lines(rows) for value in line for part in value.split("\n"))
    out = []
    for number, row in enumerate(rows, 1):
        label = f"-[ RECORD {number} ]-".ljust(names + values + 5, "-")
        out.append(f"* Record {number}" if not border else f"+{label}+" if border == 2 else label)
        for name, value in row.items():
            parts = (value or "").split("\n")
            for i, part in enumerate(parts):
                last = i + 1 == len(parts)
                shown = f"{part:<{values}}{' ' if last else '+'}"
                left = f"{name if i == 0 else '':<{names}} "
                if border == 2:
                    out.append(f"| {left}| {shown}|")
                else:
                    out.append(left + ("| " if border else "") + (part if last else shown))
    end = f"+{'-' * names}--+{'-' * values}--+\n" if border == 2 else ""
    return "\n".join(out) + "\n" + end + "\n"


#: Forms that keep everything.
EXACT: dict[str, Callable[[Rows], str]] = {
    "comma": as_csv,
    "semicolon": lambda rows: as_csv(rows, ";"),
    "tab": lambda rows: as_csv(rows, "\t"),
    "ends of Windows": lambda rows: as_csv(rows, end="\r\n"),
    "json list": as_json_list,
    "json lines": as_json_lines,
    "json document": as_json_document,
}
#: psql's forms: null and the empty text are one, and spaces at the ends of values are lost.
PRINTED: dict[str, Callable[[Rows], str]] = {
    **{f"aligned, border {border}": lambda rows, b=border: as_aligned(rows, b) for border in range(3)},  # type: ignore[misc]
    **{f"expanded, border {border}": lambda rows, b=border: as_expanded(rows, b) for border in range(3)},  # type: ignore[misc]
}
