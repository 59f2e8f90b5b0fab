"""Tutorials are run when the site is built; one that does not come out as shown is a warning, which ends the build."""

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
    for page in sorted(Path(app.srcdir).rglob("*.md")):
        if "examples" in page.relative_to(app.srcdir).parts[:1] or not examples.is_executed(page):
            continue
        _log.info("running the examples of %s", page.name)
        done = subprocess.run(
            [sys.executable, examples.__file__, str(page)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            _log.warning("%s", done.stderr, location=(app.env.path2doc(page), 1))


def setup(app: Sphinx) -> dict[str, Any]:
    """Run the pages before any is read; ``-D run_examples=0`` leaves that out."""
    app.add_config_value("run_examples", default=True, rebuild="", types=[bool, int, str])
    app.connect("builder-inited", _run)
    return {"parallel_read_safe": True}
