"""Pages: one HTML file each that needs no network, worth forwarding to whoever signs for the hardware."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from tiersim.cli.page.payload import embedded_json, page_payload

if TYPE_CHECKING:
    from tiersim.simulator.result import Result

__all__ = ["build_page", "build_trace_page"]

#: Scripts of every page, and those of each; a page runs them as one, in this order.
_SHARED = ("words", "elements", "shell", "charts", "figures")
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
_TRACE = ("trace",)


def build_page(results: Sequence[Result], title: str) -> str:
    """Build the report of *results* as text; byte for byte the same for the same results."""
    if not results:
        raise ValueError("a page needs at least one result")
    payload = page_payload(results, title)
    words = {
        "kicker": "What if: storage, predicted by tiersim",
        "spoken_of": "The verdicts",
        "spoken": _spoken(payload),
    }
    return _page("report.html", _REPORT, title, words, payload)


def build_trace_page(description: dict[str, Any], title: str) -> str:
    """Build the page of a trace from its description (``tiersim.description/1``); the same for the same description."""
    from tiersim.cli.page.trace_payload import trace_payload

    payload = trace_payload(description, title)
    spoken = "".join(f"<li><b>{escape(question)}</b> {escape(said)}</li>" for question, said in payload["lead"])
    words = {"kicker": "A trace, described by tiersim", "spoken_of": "In short", "spoken": spoken}
    return _page("trace.html", _TRACE, title, words, payload)


def _page(body: str, scripts: Sequence[str], title: str, words: dict[str, str], payload: dict[str, Any]) -> str:
    """Put a page together.

    Only the two scripts that it is built from may run: the policy in its head names them by hash, so that not even a
    name with HTML in it, had it slipped through the escaping, could do anything.
    """
    from plotly.offline import get_plotlyjs

    own = "\n".join(_asset(f"scripts/{name}.js") for name in (*_SHARED, *scripts))
    library, script = _normalised(get_plotlyjs()), _normalised(f"'use strict';\n(() => {{\n{own}}})();\n")
    return Template(_asset("shell.html")).substitute(
        title=escape(title),
        script_hashes=f"{_csp_hash(library)} {_csp_hash(script)}",
        style=_asset("page.css"),
        body=_asset(body),
        **words,
        data=embedded_json(payload),
        library=library,
        script=script,
    )


def _asset(name: str) -> str:
    return files(__name__).joinpath(*name.split("/")).read_text(encoding="utf-8")


def _normalised(script: str) -> str:
    """A script as a browser will see it, which is what the hash is of."""
    return script.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _csp_hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _spoken(payload: dict[str, Any]) -> str:
    """The verdicts for readers whose browser runs no scripts."""
    return "".join(
        f"<li><b>{escape(scenario['name'])}</b>: {escape(scenario['verdict']['load'])}. "
        f"{escape(scenario['load']['explanation'])}</li>"
        for scenario in payload["scenarios"]
    )
