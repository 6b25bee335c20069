"""Published against predicted, as one HTML file without a script: claims as tables, pairs of cells as heat maps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from string import Template
from typing import TYPE_CHECKING

from tiersim.cli.page import asset, head
from tiersim.scenarios.validation import report

if TYPE_CHECKING:
    from tiersim.scenarios.validation.claims import Experiment, HeatMap

#: So far off, in percent, a cell of a map has its full colour; of that colour at most so much is mixed in, for text to
#: stay readable.
_FULL_PCT, _MOST = 60, 55


def build_validation_page(experiments: Sequence[Experiment]) -> str:
    """Build the page of *experiments* as text; byte for byte the same for the same ones."""
    return Template(asset("validation.html")).substitute(
        head=head("Published against predicted", style=asset("validation.css")),
        body="".join(_section(found) for found in experiments),
    )


def _section(found: Experiment) -> str:
    columns, rows = report.table(found)
    said = (
        [f"Not tried: {found.missing}."]
        if found.missing
        else [report.counted(found), report.origin(found), *report.notes(found)]
    )
    parts = [f"<h2>{escape(found.title)}</h2>", *(f'<p class="note">{escape(text)}</p>' for text in said)]
    parts += [_map(one) for one in found.maps]
    if rows:
        body = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
        head = _tagged("th", columns, 'scope="col"')
        parts.append(
            f'<div class="wide"><table class="claims"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        )
    return "\n".join(["<section>", *parts, "</section>\n"])


def _cells(row: Sequence[str]) -> str:
    verdict = row[-1].strip("*")
    kind = ' class="fails"' if verdict.endswith("fails") else ""
    return _tagged("td", row[:-1]) + f"<td{kind}>{escape(verdict)}</td>"


def _tagged(tag: str, texts: Iterable[str], more: str = "") -> str:
    opened = f"{tag} {more}".rstrip()
    return "".join(f"<{opened}>{escape(text)}</{tag}>" for text in texts)


def _map(found: HeatMap) -> str:
    """Draw a map: blue is predicted too low, orange too high."""
    head = _tagged("th", ("recorded", *found.columns), 'scope="col"')
    rows = "".join(
        f'<tr><th scope="row">{escape(label)}</th>{"".join(map(_heat, row))}</tr>'
        for label, row in zip(found.labels, found.off_pct, strict=True)
    )
    caption = f"{escape(found.title)}, off by %; blue: predicted too low, orange: too high"
    return (
        '<div class="wide"><table'
        f' class="heat"><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _heat(percent: float | None) -> str:
    if percent is None:
        return "<td></td>"
    far = _MOST * min(abs(percent) / _FULL_PCT, 1)
    return f'<td class="{"fast" if percent > 0 else "slow"}" style="--far: {far:.0f}%">{report.off(percent)}</td>'
