"""Configuration of the documentation site: ``make docs`` builds it into ``build/docs``."""

from __future__ import annotations

import sys
from pathlib import Path

import vlane

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "vlane"
author = "the vlane developers"
copyright = "2026, the vlane developers"  # noqa: A001 - Sphinx's name
version = release = vlane.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "executed_pages",
    "reference",
    "repository_links",
]
exclude_patterns = ["examples/**", "_ext/**"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4  # links to headings are those of the repository's pages
myst_links_external_new_tab = True

nitpicky = True
# Types of other libraries, and words of numpy docstrings ("list of int"), are no links; our own names are.
nitpick_ignore_regex = [("py:.*", r"(?!vlane\.).*")]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say types and units
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_custom_sections = [("Members", "params_style")]
napoleon_use_rtype = False
napoleon_use_ivar = True  # members that are documented twice are no two targets
suppress_warnings = ["ref.python"]  # tables and components share names, as DTable; a link by the short name takes one

smartquotes = False  # words and keys stay as they are typed

html_theme = "furo"
html_title = f"vlane {version}"
html_static_path = ["_static"]
_page = Path(__file__).parent.parent / "build" / "page"  # made by `make page`
html_extra_path = [str(_page)] if _page.is_dir() else []
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False

linkcheck_timeout = 20
linkcheck_workers = 2
