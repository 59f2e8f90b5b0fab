"""Power-on contents of memories as program writes, for hardware without initial values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vlane.congestion.cc_source import SL_BITS, CCSourceSelect
from vlane.tables.lft import UNASSIGNED
from vlane.tables.sc import SC_COUNT, SCTable
from vlane.tables.sl2vl import SL_COUNT

Writes = list[dict[str, int]]


def power_on_writes(block: str, parameters: Mapping[str, Any]) -> Writes:
    """Return the writes, as inputs of each cycle, that give a block's memories their power-on contents.

    Empty for a block without such memories: all other memories are written before their contents can be observed.
    """
    return _WRITES[block](parameters) if block in _WRITES else []


def _lft(entries: int, program: str = "program") -> Writes:
    return [{f"{program}__enable": 1, f"{program}__lid": lid, f"{program}__port": UNASSIGNED} for lid in range(entries)]


def _sl2vl(outputs: int, data_vls: int, program: str = "program") -> Writes:
    row = sum((sl % data_vls) << 4 * sl for sl in range(SL_COUNT))
    return [
        {f"{program}__enable": 1, f"{program}__every_input": 1, f"{program}__output": output, f"{program}__row": row}
        for output in range(outputs)
    ]


def _sc(ports: int, program: str = "program") -> Writes:
    numbers = range(ports)
    places = [(SCTable.SL2SC, 0, 0), (SCTable.SC2SL, 0, 0)]
    places += [(SCTable.SC2SC, ingress, egress) for ingress in numbers for egress in numbers]
    places += [(SCTable.SC2VL_T, 0, egress) for egress in numbers]
    places += [(SCTable.SC2VL_NT, ingress, 0) for ingress in numbers]
    return [
        {
            f"{program}__enable": 1,
            f"{program}__table": int(table),
            f"{program}__ingress": ingress,
            f"{program}__egress": egress,
            f"{program}__index": index,
            f"{program}__value": index,
        }
        for table, ingress, egress in places
        for index in range(SC_COUNT)
    ]


def _cc_source(cct_entries: int) -> Writes:
    """Return writes that clear the given memories. Values that a write does not name are 0."""
    places = [(CCSourceSelect.LEVEL, sl) for sl in range(1 << SL_BITS)]
    places += [(CCSourceSelect.TABLE, entry) for entry in range(cct_entries)]
    return [{"program__enable": 1, "program__select": int(select), "program__index": index} for select, index in places]


def _delays(flows: int, base: str) -> Writes:
    written = range(flows if base == "given" else 0)
    return [{"program__enable": 1, "program__flow": flow, "program__base": 0} for flow in written]


_WRITES: dict[str, Callable[[Mapping[str, Any]], Writes]] = {
    "lft": lambda given: _lft(given["entries"]),
    "sl2vl": lambda given: _sl2vl(given["outputs"], given["data_vls"]),
    "sc": lambda given: _sc(given["ports"]),
    "cc_source": lambda given: _cc_source(given["cct_entries"]),
    "e2cm_prober": lambda given: _delays(given["flows"], given["base"]),
    "ib_switch": lambda given: _lft(given["lids"], "lft") + _sl2vl(given["ports"], given["data_vls"], "sl2vl"),
    "opa_switch": lambda given: _lft(given["lids"], "lft") + _sc(given["ports"], "sc"),
}
