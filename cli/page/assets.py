"""What pages are put together from: files beside this one."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template


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
