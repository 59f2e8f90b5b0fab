"""Table files: TOML or JSON with the specification's field names."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vlane.drr import DRRQuanta
from vlane.dtable import DTable, DTableEntry
from vlane.errors import InputError
from vlane.scfq import SCFQWeights
from vlane.sl2vl import SL2VLRow
from vlane.textfile import toml_document, whole_text
from vlane.vlarb import VLArbEntry, VLArbTable

__all__ = ["Tables", "read_tables", "read_vlarb_table"]

_Pair = Annotated[list[int], Field(min_length=2, max_length=2)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _VLArb(_Section):
    high: list[_Pair] = []
    low: list[_Pair] = []
    limit_of_high_priority: int


class _DTable(_Section):
    entries: list[_Pair]


class _DRR(_Section):
    quantum: list[int]


class _SCFQ(_Section):
    weight: list[int]


class _SL2VL(_Section):
    row: list[int]


class _File(_Section):
    vlarb: _VLArb | None = None
    dtable: _DTable | None = None
    drr: _DRR | None = None
    scfq: _SCFQ | None = None
    sl2vl: _SL2VL | None = None


@dataclass(frozen=True, slots=True)
class Tables:
    """What a table file holds; ``None`` for the sections it lacks.

    Parameters
    ----------
    vlarb : VLArbTable or None
        Lists and limit of the VL arbiter.
    dtable : DTable or None
        Entries of the Deficit Table.
    drr : DRRQuanta or None
        Quanta of deficit round robin.
    scfq : SCFQWeights or None
        Weights of self-clocked fair queueing.
    sl2vl : SL2VLRow or None
        VL of each SL; it says which lanes a requester owns.
    """

    vlarb: VLArbTable | None = None
    dtable: DTable | None = None
    drr: DRRQuanta | None = None
    scfq: SCFQWeights | None = None
    sl2vl: SL2VLRow | None = None


def read_tables(path: Path, *, needed: str = "") -> Tables:
    """Return all tables of a file.

    Parameters
    ----------
    path : Path
        TOML, or JSON if its name ends so.
    needed : str
        A section that must be there.

    Raises
    ------
    InputError
        If the file cannot be read or parsed, has an unknown or missing key, or a value is out of range.
    """
    document = _parse(path)
    try:
        file = _File.model_validate(document)
    except ValidationError as error:
        raise _refusal(error, path) from None
    if needed and getattr(file, needed) is None:
        raise InputError(needed, "given", "missing", source=str(path))
    try:
        return Tables(
            vlarb=VLArbTable(
                tuple(VLArbEntry(*pair) for pair in file.vlarb.high),
                tuple(VLArbEntry(*pair) for pair in file.vlarb.low),
                file.vlarb.limit_of_high_priority,
            )
            if file.vlarb
            else None,
            dtable=DTable(tuple(DTableEntry(*pair) for pair in file.dtable.entries)) if file.dtable else None,
            drr=DRRQuanta(tuple(file.drr.quantum)) if file.drr else None,
            scfq=SCFQWeights(tuple(file.scfq.weight)) if file.scfq else None,
            sl2vl=SL2VLRow(tuple(file.sl2vl.row)) if file.sl2vl else None,
        )
    except InputError as error:
        raise error.at(str(path)) from None


def read_vlarb_table(path: Path) -> VLArbTable:
    """Return the ``[vlarb]`` table of a file; it raises what ``read_tables`` does."""
    table = read_tables(path, needed="vlarb").vlarb
    if table is None:
        raise InputError("vlarb", "given", "missing", source=str(path))
    return table


def _parse(path: Path) -> Any:
    if path.suffix != ".json":
        return toml_document(path, "table file")
    text = whole_text(path, "table file")
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InputError("content", "JSON", str(error) or "nested too deep", source=str(path)) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object; a key given twice is refused, as TOML does."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key is given twice")
    return made


def _refusal(error: ValidationError, path: Path) -> InputError:
    first = error.errors()[0]
    field = ".".join(map(str, first["loc"])) or "content"
    if first["type"] == "extra_forbidden":
        return InputError(
            field,
            "one of the known keys (vlarb.high, .low, .limit_of_high_priority; dtable.entries; drr.quantum; "
            "scfq.weight; sl2vl.row)",
            "unknown",
            source=str(path),
        )
    if first["type"] == "missing":
        return InputError(field, "given", "missing", source=str(path))
    must = {
        "int_type": "a whole number",
        "list_type": "a list",
        "model_type": "a section",
        "model_attributes_type": "a section",
    }.get(first["type"], "a pair [VL or SL, weight]" if first["type"] in {"too_short", "too_long"} else first["msg"])
    return InputError(field, must, first["input"], source=str(path))
