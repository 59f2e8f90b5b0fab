"""Tables of a switch as writes of its program ports: input values of a cycle, by input name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from vlane.congestion.marking_write import MarkingWrite
from vlane.credits.credit_starvation import StarvationWrite
from vlane.egress import REST_CYCLES
from vlane.schedulers.registry import SCHEDULERS
from vlane.schedulers.writes import Write
from vlane.tables.lft import UNASSIGNED
from vlane.tables.sc import SC15, SC_COUNT, SCTable
from vlane.units import MAX_DATA_VLS

TableWrite = dict[str, int]


def top_write(lids: int) -> TableWrite:
    """Return the write that limits lookups to the LIDs below ``lids``."""
    return {"lft__enable": 1, "lft__top": 1, "lft__lid": lids - 1}


def lft_write(lid: int, port: int) -> TableWrite:
    """Return the write of a forwarding table entry: a port from 1, or 0 or 255."""
    return {"lft__enable": 1, "lft__lid": lid, "lft__port": port}


def lft_writes(ports: Iterable[int]) -> list[TableWrite]:
    """Return the writes of a forwarding table, given the port of each LID: from 1, or 0 or 255."""
    return [lft_write(lid, int(port)) for lid, port in enumerate(ports)]


def sl2vl_writes(vl: NDArray[np.uint8]) -> list[TableWrite]:
    """Return the writes of SL2VL, given an array by input, output and SL."""
    return [
        {
            "sl2vl__enable": 1,
            "sl2vl__input": given,
            "sl2vl__output": output,
            "sl2vl__row": sum(int(lane) << 4 * sl for sl, lane in enumerate(vl[given, output])),
        }
        for given in range(vl.shape[0])
        for output in range(vl.shape[1])
    ]


def congestion_write(write: MarkingWrite | StarvationWrite) -> TableWrite:
    """Return a write of a switch's congestion settings."""
    port = "starvation" if isinstance(write, StarvationWrite) else "congestion"
    return {f"{port}__enable": 1, **{f"{port}__{name}": int(value) for name, value in vars(write).items()}}


def sc_write(table: SCTable, ingress: int, egress: int, index: int, value: int) -> TableWrite:
    """Return the write of an entry of Omni-Path's maps."""
    return {
        "sc__enable": 1,
        "sc__table": int(table),
        "sc__ingress": ingress,
        "sc__egress": egress,
        "sc__index": index,
        "sc__value": value,
    }


def sc_writes(sc2sc: NDArray[np.uint8], sc2vl: NDArray[np.uint8]) -> list[TableWrite]:
    """Return the writes of SC2SC and SC2VL_t after power-on, when all maps are identities.

    Parameters
    ----------
    sc2sc : array of uint8, (ports, ports, 32)
        New channel, by input, output and channel.
    sc2vl : array of uint8, (ports, 32)
        Lanes by output and channel; 255 for none.
    """
    writes = [
        sc_write(SCTable.SC2SC, int(given), int(output), int(channel), int(sc2sc[given, output, channel]))
        for given, output, channel in np.argwhere(sc2sc != np.arange(SC_COUNT))
    ]
    lanes = sc2vl.astype(np.int64)
    vls = np.where(lanes == UNASSIGNED, SC15, lanes + (lanes >= SC15))
    return writes + [
        sc_write(SCTable.SC2VL_T, 0, int(output), int(channel), int(vls[output, channel]))
        for output, channel in np.argwhere(vls != np.arange(SC_COUNT))
    ]


def table_write(name: str, ports: Iterable[int], write: Write) -> TableWrite:
    """Return a table write for the schedulers of some outputs, numbered from 0."""
    select, place, lane, weight = write
    return {
        "schedule__enable": 1,
        "schedule_ports": _bits(ports),
        "schedule__select": select,
        "schedule__index": place,
        f"schedule__{SCHEDULERS[name].name_field}": lane,
        "schedule__weight": weight,
    }


def swap_write(ports: Iterable[int]) -> TableWrite:
    """Return the input values that request a table swap in the schedulers of some outputs, numbered from 0."""
    return {"swap": _bits(ports)}


def _bits(ports: Iterable[int]) -> int:
    return sum(1 << port for port in ports)


def schedule_writes(name: str, tables: Sequence[Sequence[Write]], *, line_rate: bool) -> list[TableWrite]:
    """Return the writes of each output's scheduler, and a swap if it has a shadow table.

    Links are ready; flow-control packets may delay the swap by a few cycles. Empty cycles follow, in which a line-rate
    form reads its tables and becomes idle.

    Parameters
    ----------
    name : str
        Name of the scheduler.
    tables : sequence of sequence of Write
        Writes by output.
    line_rate : bool
        Whether the form is the line-rate form.
    """
    found: list[TableWrite] = []
    for port, writes in enumerate(tables):
        found += [table_write(name, [port], write) for write in writes]
        if SCHEDULERS[name].swaps:
            found.append(swap_write([port]))
    found += [{}] * (REST_CYCLES if line_rate else MAX_DATA_VLS + 1)
    return found
