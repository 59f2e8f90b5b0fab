"""Progress of long work, logged by the lower layers and shown on stderr."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
def progress_shown(*, is_shown: bool) -> Iterator[None]:
    """Show log messages on stderr within the context, unless they are shown already."""
    logger = logging.getLogger("vlane")
    if not is_shown or _NOTES in logger.handlers:
        yield
        return
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(_NOTES)
    try:
        yield
    finally:
        logger.removeHandler(_NOTES)
        logger.setLevel(level)


def is_watched() -> bool:
    """Return whether somebody sees stderr: a terminal or a notebook."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
