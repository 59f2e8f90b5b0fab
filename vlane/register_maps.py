"""Registers of every block whose tables are programmed, whatever its parameters (``docs/register_port.md``).

A map does not depend on an instance's sizes: an entry that the instance lacks takes a write and changes nothing. A
switch's scheduler decides what there is at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vlane.opa_credit import BufferSelect
from vlane.registers import BitField, Command, Constant, Register, RegisterMap, Setting, Status, Window
from vlane.sc import SCTable

__all__ = ["REGISTERED", "register_map"]

_VERSION = 1
"""Of the maps; raised when an address or a field moves."""

_MAX_PORTS = 64


def register_map(block: str, parameters: Mapping[str, Any]) -> RegisterMap:
    """Return the registers of a block with these parameters; parameters only decide which ports there are.

    Raises
    ------
    KeyError
        If the block has no tables to program.
    """
    what = "VL in the upper half, then the block's number, then the version of the maps"
    identity = Constant("identity", what, 0x564C << 16 | REGISTERED.index(block) << 8 | _VERSION)
    return RegisterMap(block, (identity, *_MAPS[block](parameters)))


def _vlarb(_parameters: Mapping[str, Any]) -> tuple[Register, ...]:
    return (
        *_swapped(),
        Status("unreachable", "data lanes that no entry with a weight names", "unreachable"),
        Status("bad_entries", "entries that name VL15 or a lane that is not there", "bad_entries"),
        *_vlarb_windows("program"),
    )


def _vlarb_windows(program: str) -> tuple[Register, ...]:
    limit = (BitField("weight", 0, 8, "LimitOfHighPriority"),)
    entry = (BitField("weight", 0, 8, "weight in 64-byte blocks"), BitField("vl", 8, 4, "lane"))
    index = (BitField("index", 0, 6),)
    return (
        Window("limit", "limit of the high-priority list", program, limit, fixed={"select": 2}),
        Window("high", "high-priority list", program, entry, index, {"select": 0}),
        Window("low", "low-priority list", program, entry, index, {"select": 1}),
    )


def _swapped() -> tuple[Register, ...]:
    return (
        Command("swap", "bit 0: the shadow tables become the active ones", "swap"),
        Status("swap_pending", "bit 0: a swap waits", "swap_pending"),
    )


def _entries(program: str, what: str, *fields: BitField) -> Window:
    return Window("entry", what, program, fields, (BitField("index", 0, 7),), {"select": 0})


def _requesters(bits: int = 5) -> Window:
    return Window(
        "map", "requester of each lane", "program", (BitField("requester", 0, bits, "requester"),),
        (BitField("index", 0, 5),), {"select": 1},
    )  # fmt: skip


def _dtable(parameters: Mapping[str, Any]) -> tuple[Register, ...]:
    bits = 4 if parameters["form"] == "ib" else 5
    unreachable = Status("unreachable", "requesters that no entry with a weight names", "unreachable")
    entries = _entries("program", "the table's entries, into the shadow bank", *_dtable_entry(bits))
    if parameters["form"] == "line_rate":
        return (*_swapped(), unreachable, entries)
    return (
        *_swapped(),
        unreachable,
        Status("accumulated", "accumulated weight of the turn", "accumulated"),
        Status("deficit", "deficit of each requester", "deficit", words=32, element_bits=7),
        entries,
        _requesters(bits),
    )


def _dtable_entry(bits: int) -> tuple[BitField, ...]:
    return (BitField("weight", 0, 8, "weight in 64-byte blocks"), BitField("requester", 16, bits, "requester"))


_QUANTUM = BitField("weight", 0, 8, "quantum in 64-byte blocks")
_RECIPROCAL = BitField("weight", 0, 16, "reciprocal of the weight")


def _drr(_parameters: Mapping[str, Any]) -> tuple[Register, ...]:
    return (
        Status("unreachable", "requesters without a quantum", "unreachable"),
        Status("accumulated", "what is left of the turn", "accumulated"),
        Status("deficit", "deficit of each requester", "deficit", words=32, element_bits=7),
        _entries("program", "each requester", _QUANTUM),
        _requesters(),
    )


def _scfq(_parameters: Mapping[str, Any]) -> tuple[Register, ...]:
    return (
        Status("unreachable", "requesters without a reciprocal", "unreachable"),
        Status("virtual_time", "tag of the packet sent last", "virtual_time"),
        _entries("program", "each requester", _RECIPROCAL),
        _requesters(),
    )


def _rr(parameters: Mapping[str, Any]) -> tuple[Register, ...]:
    return (_requesters(),) if parameters["requesters"] else ()


def _lft(program: str = "program") -> tuple[Register, ...]:
    port = (BitField("port", 0, 8, "output; 255 leads nowhere"),)
    top = (BitField("lid", 0, 16, "last LID that is looked up"),)
    return (
        Window("lft_top", "top of the forwarding table", program, top, fixed={"top": 1}),
        Window("lft", "output of each LID", program, port, (BitField("lid", 0, 16),), {"top": 0}),
    )


def _sl2vl(program: str = "program") -> tuple[Register, ...]:
    row = (BitField("row", 0, 64, "lane of each SL, 4 bits each, SL 0 lowest; 15 drops"),)
    output, inputs = BitField("output", 0, 6), BitField("input", 6, 6)
    return (
        Window("sl2vl_every_input", "a row for every input", program, row, (output,), {"every_input": 1}),
        Window("sl2vl", "a row for an output and an input", program, row, (output, inputs), {"every_input": 0}),
    )


def _sc(program: str = "program") -> tuple[Register, ...]:
    value = BitField("value", 0, 5, "what it is mapped to")
    egress, ingress = BitField("egress", 8, 6, "egress port"), BitField("ingress", 16, 6, "ingress port")
    kept = {
        SCTable.SL2SC: (value,),
        SCTable.SC2SL: (value,),
        SCTable.SC2SC: (value, egress, ingress),
        SCTable.SC2VL_T: (value, egress),
        SCTable.SC2VL_NT: (value, ingress),
    }
    return tuple(
        Window(
            table.name.lower(), f"the {table.name} map", program, fields, (BitField("index", 0, 5),), {"table": table}
        )
        for table, fields in kept.items()
    )


def _credit_opa(_parameters: Mapping[str, Any]) -> tuple[Register, ...]:
    units = (BitField("units", 0, 12, "limit in 64-byte units"),)
    vl = (BitField("vl", 0, 5),)
    return (
        Command("apply", "bit 0: the limits written take over", "apply"),
        Status("step", "step of the change", "step"),
        Window("dedicated", "units dedicated to each lane", "program", units, vl, {"select": BufferSelect.DEDICATED}),
        Window("shared", "shared limit of each lane", "program", units, vl, {"select": BufferSelect.SHARED}),
        Window("overall", "shared limit of all lanes", "program", units, fixed={"select": BufferSelect.OVERALL}),
    )


def _switch(parameters: Mapping[str, Any], maps: tuple[Register, ...]) -> tuple[Register, ...]:
    return (*_lft("lft"), *maps, *_switch_schedule(parameters["scheduler"]))


def _switch_schedule(scheduler: str) -> tuple[Register, ...]:
    """Return what programs the outputs' schedulers; windows write to every output that is chosen."""
    if scheduler == "rr":
        return ()
    words = _MAX_PORTS // 32
    chosen = Setting("schedule_ports", "outputs whose scheduler takes writes, a bit each", "schedule_ports", words)
    swap = Command("swap", "outputs whose shadow tables become the active ones, a bit each", "swap", words)
    if scheduler == "vlarb":
        return (chosen, swap, *_vlarb_windows("schedule"))
    if scheduler == "dtable":
        return (chosen, swap, _entries("schedule", "the tables' entries", *_dtable_entry(5)))
    return (chosen, _entries("schedule", "each lane", _QUANTUM if scheduler == "drr" else _RECIPROCAL))


_MAPS: dict[str, Callable[[Mapping[str, Any]], tuple[Register, ...]]] = {
    "vlarb": _vlarb,
    "dtable": _dtable,
    "drr": _drr,
    "scfq": _scfq,
    "rr": _rr,
    "sl2vl": lambda _parameters: _sl2vl(),
    "sc": lambda _parameters: _sc(),
    "lft": lambda _parameters: _lft(),
    "credit_opa": _credit_opa,
    "ib_switch": lambda parameters: _switch(parameters, _sl2vl("sl2vl")),
    "opa_switch": lambda parameters: _switch(parameters, _sc("sc")),
}
REGISTERED = tuple(_MAPS)
"""Blocks with registers."""
