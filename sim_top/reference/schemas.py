"""JSON schemas of input files, derived from the models that read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from vlane.dut_map import DutMap
from vlane.dut_policy import Policy
from vlane.errors import unknown_word
from vlane.planning.dtable_request import RequestFile
from vlane.planning.vlarb_wants import WantsFile
from vlane.plugins import load_installed
from vlane.schedulers.table_files import table_model
from vlane.study.model import study_model

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class FileKind:
    """Kind of input file.

    Parameters
    ----------
    title : str
        Title of the schema.
    about : str
        Description of the schema.
    model : callable
        Function that returns the model of the content, including the words of loaded plug-ins.
    """

    title: str
    about: str
    model: Callable[[], type[BaseModel]]


SCHEMAS = {
    "study": FileKind("vlane study file", "Network, traffic and runs for vlane simulate.", study_model),
    "tables": FileKind("vlane table file", "Tables of schedulers and SL maps for --table.", table_model),
    "plan": FileKind("vlane request for a Deficit Table", "Request for vlane dtable plan.", lambda: RequestFile),
    "wants": FileKind("vlane requirements of service levels", "Requirements for vlane vlarb plan.", lambda: WantsFile),
    "map": FileKind("vlane map file", "Port map of a design for vlane cosim --dut.", lambda: DutMap),
    "policy": FileKind("vlane policy file", "Limits of policies for vlane cosim --dut --policy.", lambda: Policy),
}
"""Kinds of files, by their name in ``vlane schema``."""


def schema_of(kind: str) -> dict[str, Any]:
    """Return the JSON schema of a kind of file, for editors and for programs that write such files.

    The schema is more permissive than vlane, because it lacks rules that involve several keys.

    Raises
    ------
    InputError
        If the kind is unknown.

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
    """Return a schema without null, which TOML lacks, and without generated titles."""
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
