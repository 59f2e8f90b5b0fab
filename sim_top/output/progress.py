"""Progress of long work, logged by the lower layers and shown on stderr."""

from __future__ import annotations

import logging
import sys

from vlane.sim_top.output.console import note


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


_NOTES = _Notes(logging.INFO)


def show_progress() -> None:
    """Show log messages about compilation on stderr from now on, except with ``--json``."""
    if "--json" in sys.argv[1:]:
        return
    logger = logging.getLogger("vlane")
    logger.setLevel(logging.INFO)
    logger.addHandler(_NOTES)
