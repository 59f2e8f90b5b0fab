"""Study with its original text, and changes by dotted keys. The result is always an accepted study."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from vlane.documents.document import Document, read_document
from vlane.documents.key_lines import Path as Keys
from vlane.documents.refusal import checked
from vlane.documents.toml_text import toml_value
from vlane.errors import InputError
from vlane.plugins import load_installed
from vlane.study.model import study_model
from vlane.study.refusals import told_of_study
from vlane.study.study import Study

_PART = r'(?:[\w-]+|"(?:[^"\\]|\\.)*")'
_KEY = re.compile(rf"{_PART}(?:\[\d+\])*(?:\.{_PART}(?:\[\d+\])*)*")
_WORD = re.compile(r"[\w.+-]+")


@dataclass(frozen=True)
class StudyFile:
    """Study with its changes, made by ``read_study_file``, ``study_of`` and ``with_``.

    Parameters
    ----------
    document : Document
        Contents with the changes, and the original text, which gives the lines of keys.
    base : Path
        Folder for relative file names.
    study : Study
        Model of the contents.
    changes : mapping of str to object
        Values by dotted key in order of change; ``None`` for a removed key.
    origin : StudyFile or None
        Study before all changes; ``None`` if unchanged.
    """

    document: Document
    base: Path
    study: Study
    changes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    origin: StudyFile | None = None

    def with_(self, changes: Mapping[str, Any]) -> StudyFile:
        """Return the study with several keys changed at once, checked like a file.

        Parameters
        ----------
        changes : mapping of str to object
            Values by dotted key, with list elements by index: ``traffic.0.share``. Missing sections and keys are added.
            ``None`` removes a key, so that its default applies.

        Raises
        ------
        InputError
            If a key does not exist, or the changed study is rejected.
        """
        if not isinstance(changes, Mapping):
            raise InputError("changes", "a mapping of dotted keys to values", f"{changes!r}")
        content, made = copy.deepcopy(self.document.content), dict(self.changes)
        document = Document(self.document.source, self.document.text, content)
        for key, value in changes.items():
            plain = _plain(value)
            _put(document, key, plain)
            at = document.path_of(key)
            made = {each: held for each, held in made.items() if document.path_of(each)[: len(at)] != at}
            made[key] = plain
        with _refusals(document, made):
            study = checked(study_model(), document)
        return StudyFile(document, self.base, study, MappingProxyType(made), self.origin or self)

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Add file, key and line, or the changes responsible, to errors about objects made from the study."""
        with _refusals(self.document, self.changes):
            yield


def read_study_file(path: Path) -> StudyFile:
    """Return the study in a file.

    Raises
    ------
    InputError
        As for ``vlane.study.model.read_study``.
    """
    load_installed()
    document = read_document(path, "study file")
    return StudyFile(document, path.parent, checked(study_model(), document))


def study_of(content: Mapping[str, Any], base: Path) -> StudyFile:
    """Return the study in a mapping with the contents of a study file. File names are relative to ``base``.

    Raises
    ------
    InputError
        As for a file, but without file and line.
    """
    if not isinstance(content, Mapping):
        raise InputError("content", "a mapping of sections", type(content).__name__)
    load_installed()
    document = Document("", "", _plain(content))
    with _refusals(document, {}):
        return StudyFile(document, base, checked(study_model(), document))


def shown_changes(changes: Mapping[str, Any]) -> str:
    """Return changes as text for messages.

    Examples
    --------
    >>> shown_changes({"buffers.blocks": 64, "scheduler.name": "rr", "buffers.minimum_blocks": [8, 8]})
    'buffers.blocks=64, scheduler.name=rr, buffers.minimum_blocks=[8, 8]'
    """
    return ", ".join(f"{key}={shown_value(value)}" for key, value in changes.items())


def shown_value(value: Any) -> str:
    """Return a value as text for messages."""
    if value is None:
        return "its default"
    return value if isinstance(value, str) and _WORD.fullmatch(value) else toml_value(value)


@contextmanager
def _refusals(document: Document, changes: Mapping[str, Any]) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        if error.field.startswith("--") and error.field.partition(" ")[0] != "--param":
            raise
        told = error
        if error.source and error.source != document.source:  # of a file that the study names
            if not changes:
                raise
        elif not error.source:
            told = told_of_study(error, document)
        told = _with_changes(told, document, changes)
    else:
        return
    raise told from None


def _with_changes(error: InputError, document: Document, changes: Mapping[str, Any]) -> InputError:
    """Return an error that names the changes responsible. An error in a changed value has no place in the file."""
    source, line = (error.source, error.line) if error.source else ("", 0)
    name = error.field
    if changes:
        path = document.path_of(error.field)
        keys = [document.path_of(key) for key in changes]
        is_unknown = error.got == "unknown" and any(key[: len(path)] == path for key in keys)
        if is_unknown or any(path[: len(key)] == key for key in keys):
            source, line = ("", 0) if source == document.source else (source, line)
        else:
            name = f"{name} with {shown_changes(changes)}"
    renamed = error.of(name)
    return renamed.at(source, line) if source else renamed


def _put(document: Document, key: str, value: Any) -> None:
    """Set or remove the value of a dotted key in the document's contents."""
    path = _path(document, key)
    at = document.content
    for number, part in enumerate(path):
        is_last = number == len(path) - 1
        if isinstance(at, dict):
            if is_last and value is None:
                at.pop(part, None)
            elif is_last:
                at[part] = value
            elif part not in at and value is None:
                return
            else:
                at = at.setdefault(part, {})
        elif isinstance(at, list):
            if not isinstance(part, int):
                size = f"has indices 0 to {len(at) - 1}" if at else "is empty"
                problem = f": {part} is not an index of {_dotted(path[:number])}, which {size}"
                raise InputError(key, "an index of the list", str(part), problem=problem)
            if is_last and value is None:
                problem = f": an element cannot be removed; give the whole list {_dotted(path[:number])}"
                raise InputError(key, "given", "removed", problem=problem)
            if is_last:
                at[part] = value
            else:
                at = at[part]
        else:
            problem = f": {_dotted(path[:number])} is a value without keys"
            raise InputError(key, "a known key", "unknown", problem=problem)


def _path(document: Document, key: object) -> Keys:
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise InputError("key", "a dotted key such as buffers.blocks or traffic.0.share", key)
    return document.path_of(key)


def _dotted(path: Keys) -> str:
    return ".".join(map(str, path))


def _plain(value: Any) -> Any:
    """Return a value as a file would contain it: tuples as lists, paths as text, numpy scalars as Python's."""
    if isinstance(value, Mapping):
        return {str(key): _plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return _plain(value.tolist())
    return value
