"""Pages: one HTML file each that needs no network, worth forwarding to whoever signs for the hardware."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple

from tiersim.cli.page.payload import SCHEMA, embedded_json, page_payload
from tiersim.cli.page.studies import spoken, study_payload

if TYPE_CHECKING:
    from tiersim.cli.report_inputs import Studies
    from tiersim.simulator.result import Result

__all__ = ["build_page", "build_trace_page"]

#: What draws the charts: the part of plotly.js that has the kinds of charts of these pages, as its project publishes
#: it.
_LIBRARY = "plotly/plotly-cartesian.min.js"

#: Scripts of every page, and those of each; a page runs them as one, in this order.
_SHARED = ("words", "elements", "shell", "charts", "drawing", "figures", "latencies")
_REPORT = (
    "report_state",
    "report_head",
    "report_pools",
    "report_queries",
    "report_database",
    "report_latency",
    "report_load",
    "report_pair",
    "report_known",
    "report",
)
_STUDIES = (
    "study_state",
    "study_tables",
    "study_controls",
    "study_head",
    "study_axes",
    "study_point",
    "study_mrc",
    "study_load",
    "study_size",
    "study",
)
_TRACE = ("trace",)


class _Part(NamedTuple):
    """A part of a page: its HTML, and its scripts in their order."""

    body: str
    scripts: Sequence[str]


def build_page(results: Sequence[Result], title: str, studies: Studies | None = None) -> str:
    """Build the report of *results* and *studies* as text; byte for byte the same for the same ones."""
    if not results and not studies:
        raise ValueError("a page needs at least one result or study")
    payload: dict[str, Any] = page_payload(results, title) if results else {"schema": SCHEMA, "title": title}
    said = [(scenario["name"], _verdict(scenario)) for scenario in payload.get("scenarios", ())]
    parts = []
    if studies:
        payload["studies"] = study_payload(studies)
        said += spoken(payload["studies"])
        parts.append(_Part("studies.html", _STUDIES))
    if results:
        parts.append(_Part("report.html", _REPORT))
    words = {
        "kicker": "What if: storage, predicted by tiersim",
        "spoken_of": "In short" if studies else "The verdicts",
        "spoken": "".join(f"<li><b>{escape(name)}</b>: {escape(text)}</li>" for name, text in said),
    }
    return _page(parts, title, words, payload)


def build_trace_page(description: dict[str, Any], title: str) -> str:
    """Build the page of a trace from its description (``tiersim.description/1``); the same for the same description."""
    from tiersim.cli.page.trace_payload import trace_payload

    payload = trace_payload(description, title)
    spoken = "".join(f"<li><b>{escape(question)}</b> {escape(said)}</li>" for question, said in payload["lead"])
    words = {"kicker": "A trace, described by tiersim", "spoken_of": "In short", "spoken": spoken}
    return _page([_Part("trace.html", _TRACE)], title, words, payload)


def asset(name: str) -> str:
    """Return the text of a file of this folder."""
    return files(__package__).joinpath(*name.split("/")).read_text(encoding="utf-8")


def head(title: str, *, may_load: str = "", style: str = "") -> str:
    """Return a page up to its body; *may_load* is what its policy allows beside styles of its own, *style* comes after
    those of every page.
    """
    return Template(asset("head.html")).substitute(
        title=escape(title), may_load=may_load, style=asset("page.css") + style
    )


def _page(parts: Sequence[_Part], title: str, words: dict[str, str], payload: dict[str, Any]) -> str:
    """Put a page together; names of one part's scripts are not seen by another part's.

    Only the two scripts that it is built from may run: the policy in its head names them by hash, so that not even a
    name with HTML in it, had it slipped through the escaping, could do anything.
    """
    blocks = ("{\n" + _scripts(part.scripts) + "}\n" for part in parts)
    own = "\n".join([_scripts(_SHARED), *blocks, _scripts(("open",))])
    library, script = _normalised(asset(_LIBRARY)), _normalised(f"'use strict';\n(() => {{\n{own}}})();\n")
    may_load = f"script-src {_csp_hash(library)} {_csp_hash(script)}; img-src data: blob:; "
    return Template(asset("shell.html")).substitute(
        title=escape(title),
        head=head(title, may_load=may_load),
        body="".join(asset(part.body) for part in parts),
        **words,
        data=embedded_json(payload),
        library=library,
        script=script,
    )


def _scripts(names: Sequence[str]) -> str:
    return "\n".join(asset(f"scripts/{name}.js") for name in names)


def _normalised(script: str) -> str:
    """A script as a browser will see it, which is what the hash is of."""
    return script.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _csp_hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _verdict(scenario: dict[str, Any]) -> str:
    """The verdict for readers whose browser runs no scripts."""
    return f"{scenario['verdict']['load']}. {scenario['load']['explanation']}"
