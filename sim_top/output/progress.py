"""What the layers below say of work that takes long, shown on stderr."""

from __future__ import annotations

import logging
import sys

from vlane.sim_top.output.console import note


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


_NOTES = _Notes(logging.INFO)


def show_progress() -> None:
    """Say from now on what is compiled, in a process that would else be silent; not beside JSON."""
    if "--json" in sys.argv[1:]:
        return
    logger = logging.getLogger("vlane")
    logger.setLevel(logging.INFO)
    logger.addHandler(_NOTES)
