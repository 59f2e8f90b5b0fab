"""Directives of the reference: what they show is taken from the models when the site is built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from vlane.sim_top.reference.markdown import blocks_page, keys_page


class _Generated(SphinxDirective):
    """Markdown that is made when the page is read."""

    make: Callable[..., list[str]]

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the lines."""
        at = nodes.Element()
        lines = type(self).make(*self.arguments)
        self.state.nested_parse(StringList(lines, source=str(Path(__file__).name)), 0, at, match_titles=True)
        return list(at.children)


class FileKeys(_Generated):
    """Every key of a kind of file."""

    required_arguments = 1
    make = staticmethod(keys_page)


class BlockParameters(_Generated):
    """Parameters and ports of every block."""

    make = staticmethod(lambda: blocks_page(pages="../"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives."""
    app.add_directive("vlane-file-keys", FileKeys)
    app.add_directive("vlane-block-parameters", BlockParameters)
    return {"parallel_read_safe": True}
