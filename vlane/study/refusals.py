"""Refusals of a study that has been read: of its network, its buffers, its schedulers, as they are made from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vlane.documents.document import Document, key_of, read_again
from vlane.documents.refusal import is_key
from vlane.errors import InputError
from vlane.study.model import study_model

_SECTIONS = ("network", "link", "buffers", "switch", "scheduler", "run")
"""Where a key belongs that is told without its section."""


@contextmanager
def refusals_of_study(path: Path) -> Iterator[None]:
    """Give refusals that name no file the study's, its key and its line; those of options are left alone.

    A key that was left out is told as one: what it was is its default.
    """
    try:
        yield
    except InputError as error:
        is_option = error.field.startswith("--") and error.field.partition(" ")[0] != "--param"
        if error.source or is_option:
            raise
        document = read_again(path)
        told = told_of_study(error, document) if document else error.at(str(path))
    else:
        return
    raise told from None


def told_of_study(error: InputError, document: Document) -> InputError:
    """Return a refusal with the key that a study has for it, its file and its line; of a study without text none."""
    field, got = _field(error, document), error.got
    key = document.path_of(field)
    if is_key(study_model(), document, key) and not document.has(key) and got not in ("missing", "given"):
        got = f"its default, {error.shown}"
    made = InputError(field, error.must, got, source=document.source, details=error.details, meant=error.meant)
    if not document.text:
        return made
    placed = document.placed(made)
    if placed.line:
        return placed
    line = document.placed(InputError("network", "", "missing")).line  # what paths and cables come from
    return placed.at(document.source, line)


def _field(error: InputError, document: Document) -> str:
    """Return the key that a refusal is about, with its section, as far as it is one of a study."""
    head, _, rest = error.field.partition(" ")
    if head == "--param":
        return f"scheduler.parameters.{rest or key_of((str(error.got),))}"
    if head == "pattern":
        return next(
            (
                f"traffic.{place}.pattern"
                for place, each in enumerate(document.content.get("traffic", []))
                if each.get("pattern") == rest
            ),
            error.field,
        )
    for section in _SECTIONS if "." not in head else ():
        if is_key(study_model(), document, (section, head)):
            return f"{section}.{error.field}"
    return error.field
