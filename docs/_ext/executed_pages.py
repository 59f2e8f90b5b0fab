"""Run the executed pages when the site is built: an output that differs from its page is a warning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import examples
from sphinx.application import Sphinx
from sphinx.util import logging

_log = logging.getLogger(__name__)


def _run(app: Sphinx) -> None:
    if not app.config.run_examples:
        return
    docs = Path(app.srcdir)
    for page in (examples.ROOT / "README.md", *sorted(docs.rglob("*.md"))):
        if docs / "examples" in page.parents or not examples.is_executed(page):
            continue
        _log.info("running the examples of %s", page.name)
        done = subprocess.run(
            [sys.executable, examples.__file__, str(page)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            _log.warning("%s", done.stderr, location=f"{page}:1")


def setup(app: Sphinx) -> dict[str, Any]:
    """Run the pages before any is read, unless ``-D run_examples=0`` is given."""
    app.add_config_value("run_examples", default=True, rebuild="", types=[bool, int, str])
    app.connect("builder-inited", _run)
    return {"parallel_read_safe": True}
