"""Table files of the schedulers of one list, as the writes that program them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vlane.sim_top.blocks import Block
from vlane.tb.stimulus_dtable import writes_of
from vlane.tb.stimulus_egress import map_writes, value_writes

from vlane.egress import MAX_REQUESTERS
from vlane.errors import InputError
from vlane.sl2vl import SL2VLRow
from vlane.tables import Tables, read_tables

__all__ = ["SCHEDULED", "Writes", "read_schedule", "schedule_writes", "writes_for"]

SCHEDULED = ("dtable", "drr", "scfq")
"""Schedulers of one list that have a table; round robin has only the map."""

Writes = list[tuple[int, int, int, int]]
_LISTS = {"dtable": "dtable.entries", "drr": "drr.quantum", "scfq": "scfq.weight"}


def read_schedule(file: Path, name: str) -> Tables:
    """Return the tables of a file for a scheduler.

    Raises
    ------
    InputError
        If the file cannot be used, lacks the scheduler's section, or names service levels apart that share a VL.
    """
    tables = read_tables(file, needed=name if name in SCHEDULED else "")
    if tables.sl2vl is not None:
        _refuse_shared(tables, tables.sl2vl, name, str(file))
    return tables


def writes_for(file: Path, block: Block, parameters: Mapping[str, Any]) -> Writes:
    """Return the writes that program a table file into an instance.

    Raises
    ------
    InputError
        If the file cannot be used or does not fit the instance.
    """
    return schedule_writes(read_schedule(file, block.name), block.name, parameters, str(file))


def schedule_writes(tables: Tables, name: str, parameters: Mapping[str, Any], source: str) -> Writes:
    """Return the writes (select, index, requester, weight) of a scheduler's tables, the map first."""
    requesters = parameters["requesters"] or parameters["data_vls"]
    writes = _map_writes(tables.sl2vl, parameters, source)
    if name == "dtable" and tables.dtable is not None:
        entries = tables.dtable.entries
        _check_length(entries, parameters["entries"], name, source)
        for index, entry in enumerate(entries):
            if entry.weight and entry.sl >= requesters:
                raise InputError(
                    f"dtable.entries[{index}] SL", f"0 to {requesters - 1}, the requesters there are", entry.sl,
                    source=source,
                )  # fmt: skip
        if parameters["form"] == "ib":
            try:
                tables.dtable.check_ib_packing(parameters["mtu_blocks"])
            except InputError as error:
                raise error.at(source) from None
        writes += writes_of(tables.dtable, parameters["entries"])
    elif name == "drr" and tables.drr is not None:
        _check_length(tables.drr.quantum, requesters, name, source)
        writes += value_writes(tables.drr.quantum, requesters)
    elif name == "scfq" and tables.scfq is not None:
        _check_length(tables.scfq.weight, requesters, name, source)
        try:
            reciprocals = tables.scfq.reciprocals(parameters["reciprocal_bits"])
        except InputError as error:
            raise error.at(source) from None
        writes += value_writes(reciprocals, requesters)
    return writes


def _check_length(listed: tuple[Any, ...], most: int, name: str, source: str) -> None:
    if len(listed) > most:
        raise InputError(_LISTS[name], f"at most {most} long here", len(listed), source=source)


def _map_writes(row: SL2VLRow | None, parameters: Mapping[str, Any], source: str) -> Writes:
    """Return the writes that give each lane to the lowest SL that maps there, others to nobody."""
    if row is None:
        return []
    if parameters.get("form") == "line_rate":
        raise InputError(
            "sl2vl", "left out with form line_rate, in which each VL is a requester", "given", source=source
        )
    owners = row.owners()
    if parameters["requesters"] <= max(owners.values(), default=0):
        must = f"VLs of SLs below {parameters['requesters']}, the requesters there are, or 15"
        raise InputError("sl2vl.row", must, f"a VL of SL {max(owners.values())}", source=source)
    if max(owners, default=0) >= parameters["data_vls"]:
        raise InputError("sl2vl.row", f"VLs below {parameters['data_vls']}, or 15", max(owners), source=source)
    nobody = parameters["requesters"]
    if nobody == MAX_REQUESTERS and len(owners) < parameters["data_vls"]:
        raise InputError("requesters", f"below {MAX_REQUESTERS}, as some lanes belong to nobody", nobody, source=source)
    return map_writes([owners.get(lane, nobody) for lane in range(parameters["data_vls"])])


def _refuse_shared(tables: Tables, row: SL2VLRow, name: str, source: str) -> None:
    """Refuse a table that names two service levels of one VL: they queue together and are one requester."""
    named: dict[str, int] = {}
    if name == "dtable" and tables.dtable:
        named = {f"dtable.entries[{i}] SL": e.sl for i, e in enumerate(tables.dtable.entries) if e.weight}
    elif name == "drr" and tables.drr:
        named = {f"drr.quantum[{sl}]": sl for sl, quantum in enumerate(tables.drr.quantum) if quantum}
    elif name == "scfq" and tables.scfq:
        named = {f"scfq.weight[{sl}]": sl for sl, weight in enumerate(tables.scfq.weight) if weight}
    owners = row.owners()
    for field, sl in named.items():
        vl = row.row[sl] if sl < len(row.row) else None
        if vl is not None and owners.get(vl, sl) != sl:
            raise InputError(field, f"of SL {owners[vl]}, which shares VL {vl}", f"SL {sl}", source=source)
