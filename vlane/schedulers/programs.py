"""Table files as writes that program a scheduler: the map from lanes to requesters, then the table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vlane.egress import MAX_REQUESTERS
from vlane.errors import InputError, misplaced
from vlane.schedulers.plugged import find_scheduler
from vlane.schedulers.registry import LINE_RATE, Scheduler
from vlane.schedulers.table_files import Tables, read_tables
from vlane.schedulers.writes import Write, map_writes
from vlane.tables.sl2vl import SL2VLRow


def read_program(file: Path, scheduler: Scheduler) -> Tables:
    """Return the tables of a file for a scheduler.

    Raises
    ------
    InputError
        If the file cannot be used, lacks the scheduler's section, or gives entries to two service levels with one VL.
    """
    tables = read_tables(file, needed=scheduler.name if scheduler.section else "")
    table = tables.sections.get(scheduler.name)
    if scheduler.maps and tables.sl2vl is not None and table is not None:
        _refuse_shared(table.served(), tables.sl2vl, str(file))
    return tables


def program_writes(tables: Tables, name: str, parameters: Mapping[str, Any], source: str) -> list[Write]:
    """Return the writes that program a file's tables into an instance.

    Parameters
    ----------
    tables : Tables
        Tables of the file; sections of other schedulers are ignored.
    name : str
        Name of the scheduler.
    parameters : mapping
        Parameters of the instance.
    source : str
        Name of the file, for errors.

    Raises
    ------
    InputError
        If the tables do not fit the instance.
    """
    table = tables.sections.get(name)
    try:
        writes = _map_writes(tables.sl2vl, parameters) if find_scheduler(name).maps else []
        return writes + (table.writes(parameters) if table else [])
    except InputError as error:
        raise error.at(source) from None


def _map_writes(row: SL2VLRow | None, parameters: Mapping[str, Any]) -> list[Write]:
    """Return the writes that assign each lane to its lowest SL. Lanes without an SL get no requester."""
    if row is None:
        return []
    if parameters.get("form") == LINE_RATE:
        raise misplaced("sl2vl", f"with form {LINE_RATE}: each VL is its own requester")
    owners = row.owners()
    if parameters["requesters"] <= max(owners.values(), default=0):
        sl, requesters = max(owners.values()), parameters["requesters"]
        problem = f": SL {sl} has its own VL, but the instance has only {requesters} requesters; map SL {sl} to the VL "
        problem += f"of an SL below {requesters}, or to 15"
        raise InputError("sl2vl.row", f"own VLs for SLs below {requesters}", f"SL {sl}", problem=problem)
    if max(owners, default=0) >= parameters["data_vls"]:
        must = f"a list of VLs below {parameters['data_vls']}, the instance's data lanes, or 15"
        raise InputError("sl2vl.row", must, max(owners))
    nobody = parameters["requesters"]
    if nobody == MAX_REQUESTERS and len(owners) < parameters["data_vls"]:
        raise InputError(
            "requesters",
            f"below {MAX_REQUESTERS}, because no SL uses a lane and the lane needs an unused requester",
            nobody,
        )
    return map_writes([owners.get(lane, nobody) for lane in range(parameters["data_vls"])])


def _refuse_shared(served: Mapping[str, int], row: SL2VLRow, source: str) -> None:
    """Reject a table with entries for two service levels of one VL: SLs of one VL share a queue."""
    owners = row.owners()
    for field, sl in served.items():
        vl = row.row[sl] if sl < len(row.row) else None
        if vl is not None and owners.get(vl, sl) != sl:
            problem = f"names SL {sl}, which shares VL {vl} with SL {owners[vl]}; use an entry for SL {owners[vl]}"
            raise InputError(field, f"SL {owners[vl]}", f"SL {sl}", problem=problem, source=source)
