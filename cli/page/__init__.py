"""The page: results as one HTML file that needs no network, worth forwarding to whoever signs for the hardware."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from tiersim.cli.page.payload import embedded_json, page_payload, sentence

if TYPE_CHECKING:
    from tiersim.simulator.result import Result

__all__ = ["build_page"]


def build_page(results: Sequence[Result], title: str) -> str:
    """The whole page as text; byte for byte the same for the same results.

    Only the two scripts that it is built from may run: the policy in its head names them by hash, so that not even a
    name with HTML in it, had it slipped through the escaping, could do anything.
    """
    from plotly.offline import get_plotlyjs

    if not results:
        raise ValueError("a page needs at least one result")
    library, script = (_normalised(text) for text in (get_plotlyjs(), _asset("page.js")))
    return Template(_asset("page.html")).substitute(
        title=escape(title),
        script_hashes=f"{_csp_hash(library)} {_csp_hash(script)}",
        style=_asset("page.css"),
        spoken=_spoken(results),
        data=embedded_json(page_payload(results, title)),
        library=library,
        script=script,
    )


def _asset(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _normalised(script: str) -> str:
    """A script as a browser will see it, which is what the hash is of."""
    return script.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _csp_hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _spoken(results: Sequence[Result]) -> str:
    """The verdicts for readers whose browser runs no scripts."""
    return "".join(
        f"<li><b>{escape(result.summary['name'])}</b>: {escape(result.summary['verdict']['load'])}. "
        f"{escape(sentence(result.summary['load']['explanation']))}</li>"
        for result in results
    )
