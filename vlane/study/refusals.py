"""Errors about objects made from a study (network, buffers, schedulers), with the study's key and line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vlane.documents.document import Document, key_of, read_again
from vlane.documents.refusal import is_key
from vlane.errors import InputError
from vlane.study.model import study_model

_SECTIONS = ("network", "link", "buffers", "switch", "scheduler", "run")
"""Sections of keys that errors name without a section."""


@contextmanager
def refusals_of_study(path: Path) -> Iterator[None]:
    """Add the study's file, key and line to errors without a file. Errors about options stay as they are.

    For a key that the study leaves out, the error names its default as the rejected value.
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
    """Return an error with the study's key, file and line. Without text, the error gets no place."""
    field = _field(error, document)
    key, made = document.path_of(field), error.of(field).at(document.source)
    if not error.problem and is_key(study_model(), document, key) and not document.has(key):
        got = f"its default, {error.shown}"
        made = InputError(field, error.must, got, source=document.source, details=error.details, meant=error.meant)
    if not document.text:
        return made
    placed = document.placed(made)
    if placed.line:
        return placed
    line = document.placed(InputError("network", "", "missing")).line  # the section that defines paths and cables
    return placed.at(document.source, line)


def _field(error: InputError, document: Document) -> str:
    """Return the key that an error is about, with its section if it is a key of a study."""
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
