"""Table files: TOML or JSON with the specification's field names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from pydantic import BaseModel, ConfigDict

from vlane.document import read_document
from vlane.drr import DRRQuanta
from vlane.dtable import DTable, DTableEntry
from vlane.errors import InputError
from vlane.refusal import checked
from vlane.scfq import SCFQWeights
from vlane.sl2vl import SL2VLRow
from vlane.vlarb import VLArbEntry, VLArbTable

__all__ = ["Tables", "read_tables", "read_vlarb_table"]

_Entry = TypeVar("_Entry")


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _VLArb(_Section):
    high: list[list[int]] = []
    low: list[list[int]] = []
    limit_of_high_priority: int


class _DTable(_Section):
    entries: list[list[int]]


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
        If the file cannot be read or parsed, has an unknown or missing key, or a value is out of range; with the line.
    """
    document = read_document(path, "table file")
    file = checked(_File, document)
    if needed and getattr(file, needed) is None:
        raise document.placed(InputError(needed, "given", "missing"))
    try:
        return Tables(
            vlarb=_vlarb(file.vlarb) if file.vlarb else None,
            dtable=DTable(_pairs(file.dtable.entries, DTableEntry)) if file.dtable else None,
            drr=DRRQuanta(tuple(file.drr.quantum)) if file.drr else None,
            scfq=SCFQWeights(tuple(file.scfq.weight)) if file.scfq else None,
            sl2vl=SL2VLRow(tuple(file.sl2vl.row)) if file.sl2vl else None,
        )
    except InputError as error:
        raise document.placed(error) from None


def _vlarb(read: _VLArb) -> VLArbTable:
    return VLArbTable(_pairs(read.high, VLArbEntry), _pairs(read.low, VLArbEntry), read.limit_of_high_priority)


def _pairs(listed: list[list[int]], entry: Callable[..., _Entry]) -> tuple[_Entry, ...]:
    """Return entries; what is no pair is left as it is, for the table to refuse by its place."""
    return tuple(entry(*pair) if len(pair) == 2 else cast("_Entry", pair) for pair in listed)


def read_vlarb_table(path: Path) -> VLArbTable:
    """Return the ``[vlarb]`` table of a file; it raises what ``read_tables`` does."""
    table = read_tables(path, needed="vlarb").vlarb
    if table is None:
        raise InputError("vlarb", "given", "missing", source=str(path))
    return table
