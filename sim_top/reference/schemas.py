"""JSON schemas of the files that people write, from the models that read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from vlane.dut_map import DutMap
from vlane.errors import unknown_word
from vlane.planning.dtable_request import RequestFile
from vlane.planning.vlarb_wants import WantsFile
from vlane.plugins import load_installed
from vlane.schedulers.table_files import table_model
from vlane.study.model import study_model

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file.

    Parameters
    ----------
    title : str
        What people call it.
    about : str
        What reads it.
    model : callable
        Returns the model of its content, with the words of the plug-ins that are loaded.
    """

    title: str
    about: str
    model: Callable[[], type[BaseModel]]


SCHEMAS = {
    "study": FileKind("vlane study file", "A network, its traffic and its runs, for vlane simulate.", study_model),
    "tables": FileKind("vlane table file", "Tables of schedulers and maps, for --table.", table_model),
    "plan": FileKind(
        "vlane request for a Deficit Table", "What vlane dtable plan plans a table from.", lambda: RequestFile
    ),
    "wants": FileKind(
        "vlane wants of service levels", "What vlane vlarb plan plans arbitration tables from.", lambda: WantsFile
    ),
    "map": FileKind("vlane map file", "Whose port is whose, for vlane cosim --dut.", lambda: DutMap),
}
"""Kinds of files by the word of ``vlane schema``."""


def schema_of(kind: str) -> dict[str, Any]:
    """Return the JSON schema of a kind of file, for editors and for programs that write such files.

    What it accepts is a superset of what vlane does: rules that tie several keys together are not in it.

    Raises
    ------
    InputError
        If there is no such kind.

    Examples
    --------
    >>> schema_of("study")["properties"]["run"]
    {'$ref': '#/$defs/Runs'}
    """
    if kind not in SCHEMAS:
        raise unknown_word("KIND", SCHEMAS, kind)
    known = SCHEMAS[kind]
    load_installed()
    made = _plain(known.model().model_json_schema())
    return {"$schema": _DIALECT, **made, "title": known.title, "description": known.about}


def _plain(schema: Any, *, names: bool = False) -> Any:
    """Return a schema without null, which no TOML file holds, and without titles made of names."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema if each != {"type": "null"}]
    if not isinstance(schema, Mapping):
        return schema
    kept = {
        key: _plain(value, names=key in {"properties", "$defs"})
        for key, value in schema.items()
        if names or not (key == "title" or (key == "default" and value is None))
    }
    if not names and len(kept.get("anyOf", ())) == 1:
        kept |= kept.pop("anyOf")[0]
    return kept
