"""The site made of these pages: ``make docs``. They are written to be read as they are, too."""

import re

from sphinx.application import Sphinx

project = "tiersim"
copyright = "2026, the tiersim authors"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "tiersim"
html_copy_source = False
myst_heading_anchors = 3
myst_links_external_new_tab = False
autodoc_member_order = "bysource"
autodoc_typehints = "description"

_OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./([^)#]*)[^)]*\)")


def _name_what_is_outside(_app: Sphinx, _page: str, source: list[str]) -> None:
    """What lies elsewhere in the repository is no page of the site: name its place instead of linking to it."""
    source[0] = _OUTSIDE.sub(r"\1 (`\2` in the repository)", source[0])


def setup(app: Sphinx) -> None:
    """Sphinx calls this."""
    app.connect("source-read", _name_what_is_outside)
