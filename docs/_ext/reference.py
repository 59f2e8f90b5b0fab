"""Directives of the reference: what they show is taken from the models when the site is built."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import vlane
from vlane.sim_top.reference.markdown import blocks_page, keys_page


class _Generated(SphinxDirective):
    """Markdown that is made when the page is read."""

    make: Callable[..., list[str]]

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the lines."""
        at = nodes.Element()
        lines = type(self).make(*self.arguments)
        self.state.nested_parse(StringList(lines, source=Path(__file__).name), 0, at, match_titles=True)
        return list(at.children)


class FileKeys(_Generated):
    """Every key of a kind of file."""

    required_arguments = 1
    make = staticmethod(keys_page)


class BlockParameters(_Generated):
    """Parameters and ports of every block."""

    make = staticmethod(lambda: blocks_page(pages="../"))


class Interface(_Generated):
    """Every name of ``vlane``, by the module that gives it."""

    @staticmethod
    def make() -> list[str]:
        """Return a heading for each module, and what its docstrings say of the names."""
        lines: list[str] = []
        for module in dict.fromkeys(vlane._INTERFACE.values()):
            about = inspect.getdoc(importlib.import_module(f"vlane.sim_top.{module}")) or ""
            lines += [
                f"## {module.rpartition('.')[2].replace('_', ' ').capitalize()}",
                "",
                about.partition("\n\n")[0],
                "",
            ]
            lines += ["```{eval-rst}", ".. py:currentmodule:: vlane"]
            for name in (name for name, place in vlane._INTERFACE.items() if place == module):
                kind = "class" if inspect.isclass(getattr(vlane, name)) else "function"
                if kind == "class" and issubclass(getattr(vlane, name), Exception):
                    kind = "exception"
                lines += [f".. auto{kind}:: vlane.{name}"]
            lines += ["```", ""]
        return lines


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives."""
    app.add_directive("vlane-file-keys", FileKeys)
    app.add_directive("vlane-block-parameters", BlockParameters)
    app.add_directive("vlane-interface", Interface)
    return {"parallel_read_safe": True}
