"""Links to files beside ``docs/``: in the site they lead to the pages that show these files."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_PAGES = {"CONTRIBUTING": "contributing", "CHANGELOG": "changelog", "SECURITY": "security"}
_LINK = re.compile(rf"\]\(\.\./({'|'.join(_PAGES)})\.md(#[^)]*)?\)")


def _led(_app: Sphinx, page: str, source: list[str]) -> None:
    if page not in _PAGES.values():
        source[0] = _LINK.sub(lambda link: f"]({_PAGES[link[1]]}.md{link[2] or ''})", source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Lead links when pages are read."""
    app.connect("source-read", _led)
    return {"parallel_read_safe": True}
