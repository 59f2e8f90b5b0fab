"""Register maps of all blocks with programmable tables, for all parameters (``docs/register_port.md``).

A map does not depend on the size of an instance: writes to missing entries have no effect. The registers at the end of
a switch's map depend on its scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vlane.congestion.cc_marker import RATE_BITS, SIZE_BITS, THRESHOLD_BITS, CCMarkerSelect
from vlane.congestion.cc_source import (
    BYTE_BITS,
    CCTI_BITS,
    MULTIPLIER_BITS,
    SHIFT_BITS,
    SL_BITS,
    TIMER_BITS,
    CCSourceSelect,
)
from vlane.congestion.marking_write import MASK_BITS, PORT_BITS
from vlane.credits.credit_opa import BufferSelect
from vlane.credits.credit_starvation import StarvationSelect
from vlane.ethernet.e2cm_prober import FLOW_BITS, STAMP_BITS
from vlane.ethernet.pause import MAX_MEMORY_BYTES
from vlane.registers import BitField, Command, Constant, Register, RegisterMap, Setting, Status, Window
from vlane.schedulers.registry import SCHEDULERS
from vlane.tables.sc import SCTable

_VERSION = 1
"""Version of the maps; incremented when an address or field moves."""

_MAX_PORTS = 64


def register_map(block: str, parameters: Mapping[str, Any]) -> RegisterMap:
    """Return the registers of a block. The parameters select the ports that exist.

    Raises
    ------
    KeyError
        If the block has no programmable tables.
    """
    what = '"VL" in the upper half, then the block number, then the version of the maps'
    identity = Constant("identity", what, 0x564C << 16 | NUMBERS[block] << 8 | _VERSION)
    return RegisterMap(block, (identity, *_MAPS[block](parameters)))


def _lft(program: str = "program") -> tuple[Register, ...]:
    port = (BitField("port", 0, 8, "output port; 255: none"),)
    top = (BitField("lid", 0, 16, "highest LID with an entry"),)
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
    value = BitField("value", 0, 5, "mapped value")
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
        Command("apply", "bit 0: apply the written limits", "apply"),
        Status("step", "step of the change", "step"),
        Window("dedicated", "units dedicated to each lane", "program", units, vl, {"select": BufferSelect.DEDICATED}),
        Window("shared", "shared limit of each lane", "program", units, vl, {"select": BufferSelect.SHARED}),
        Window("overall", "shared limit of all lanes", "program", units, fixed={"select": BufferSelect.OVERALL}),
    )


def _cc_marker(_parameters: Mapping[str, Any]) -> tuple[Register, ...]:
    mask = BitField("victim_mask", 0, 1, "Victim_Mask has the port")
    return (
        Status("threshold", "Threshold in force", "threshold"),
        Status("packet_size", "Packet_Size in force, in blocks", "packet_size"),
        Status("marking_rate", "Marking_Rate in force", "marking_rate"),
        Status("victim_mask", "bit 0: Victim_Mask has the port", "victim_mask"),
        Status("level", "load of the link, in blocks", "level"),
        Status("starved", "starved lanes, one bit per lane", "starved"),
        *_marking("program", mask, "the port's bit of Victim_Mask", "the port's"),
    )


def _marking(program: str, mask: BitField, mask_meaning: str, whose: str, *index: BitField) -> tuple[Register, ...]:
    """Return the windows of SwitchCongestionSetting and SwitchPortCongestionSetting, selected by ``index``."""
    threshold = (
        BitField("threshold", 0, THRESHOLD_BITS, "Threshold of the switch"),
        BitField("packet_size", 8, SIZE_BITS, "Packet_Size of the switch, in blocks"),
    )
    rate = (BitField("marking_rate", 0, RATE_BITS, "Marking_Rate of the switch"),)
    element = (
        BitField("marking_rate", 0, RATE_BITS, "Marking_Rate"),
        BitField("packet_size", 16, SIZE_BITS, "Packet_Size, in blocks"),
        BitField("threshold", 24, THRESHOLD_BITS, "Threshold"),
        BitField("control_type", 30, 1, "0 congestion control, 1 credit starvation"),
        BitField("valid", 31, 1, "the element is valid"),
    )
    parts: tuple[tuple[str, str, tuple[BitField, ...], tuple[BitField, ...], CCMarkerSelect], ...] = (
        ("switch_victim_mask", mask_meaning, (mask,), (), CCMarkerSelect.VICTIM_MASK),
        ("switch_threshold", "Threshold and Packet_Size of the switch", threshold, (), CCMarkerSelect.THRESHOLD),
        ("switch_marking_rate", "Marking_Rate of the switch", rate, (), CCMarkerSelect.MARKING_RATE),
        ("port_element", f"{whose} SwitchPortCongestionSettingElement", element, index, CCMarkerSelect.PORT),
    )
    return tuple(
        Window(name, meaning, program, fields, places, {"select": select})
        for name, meaning, fields, places, select in parts
    )


def _cc_source(_parameters: Mapping[str, Any]) -> tuple[Register, ...]:
    mode = (BitField("port_mode", 0, 1, "bit 0 of Port_Control: flows are SLs"),)
    limit = (BitField("limit", 0, CCTI_BITS, "CCTI_Limit"),)
    level = (
        BitField("timer", 0, TIMER_BITS, "CCTI_Timer"),
        BitField("increase", 16, BYTE_BITS, "CCTI_Increase"),
        BitField("trigger", 24, BYTE_BITS, "Trigger_Threshold"),
        BitField("minimum", 32, BYTE_BITS, "CCTI_Min"),
    )
    entry = (
        BitField("multiplier", 0, MULTIPLIER_BITS, "multiplier"),
        BitField("shift", MULTIPLIER_BITS, SHIFT_BITS, "shift"),
    )
    return (
        Status("taken", "entries in use", "taken"),
        Status("lost_becns", "BECNs without a free entry", "lost_becns"),
        Window("port_control", "Port_Control", "program", mode, fixed={"select": CCSourceSelect.PORT_CONTROL}),
        Window("ccti_limit", "CCTI_Limit", "program", limit, fixed={"select": CCSourceSelect.LIMIT}),
        Window(
            "sl",
            "CACongestionEntry of each SL",
            "program",
            level,
            (BitField("index", 0, SL_BITS),),
            {"select": CCSourceSelect.LEVEL},
        ),
        Window(
            "cct", "the CCT", "program", entry, (BitField("index", 0, CCTI_BITS),), {"select": CCSourceSelect.TABLE}
        ),
    )


def _pause(_parameters: Mapping[str, Any]) -> tuple[Register, ...]:
    bits = MAX_MEMORY_BYTES.bit_length()
    settings = (
        BitField("high", 0, bits, "high watermark in bytes"),
        BitField("low", bits, bits, "low watermark in bytes"),
        BitField("pause_on", 2 * bits, 1, "PAUSE is on"),
    )
    return (
        Status("level", "bytes in the memory", "level"),
        Status("drops", "dropped frames", "drops"),
        Status("high", "high watermark in force", "high"),
        Status("low", "low watermark in force", "low"),
        Status("pause_on", "bit 0: PAUSE is on", "pause_on"),
        Status("paused", "bit 0: the neighbour must be silent", "paused"),
        Window("watermarks", "both watermarks and PAUSE enable", "program", settings),
    )


def _e2cm_prober(_parameters: Mapping[str, Any]) -> tuple[Register, ...]:
    base = (BitField("base", 0, STAMP_BITS, "least one-way delay in cycles"),)
    return (
        Window("least_delay", "given least delay of each flow", "program", base, (BitField("flow", 0, FLOW_BITS),)),
    )


def _switch(parameters: Mapping[str, Any], maps: tuple[Register, ...]) -> tuple[Register, ...]:
    marking = _switch_marking() if parameters.get("marking") else ()
    starvation = _switch_starvation() if parameters.get("starving") else ()
    return (*_lft("lft"), *maps, *_switch_schedule(parameters["scheduler"]), *marking, *starvation)


def _switch_marking() -> tuple[Register, ...]:
    """Return the windows of the outputs' markers."""
    mask = BitField("victim_mask", 0, MASK_BITS, "one bit per output, from 0")
    port = BitField("port", 0, PORT_BITS, "the output, from 0")
    return _marking("congestion", mask, "Victim_Mask of the switch", "each port's", port)


def _switch_starvation() -> tuple[Register, ...]:
    """Return the windows of the inputs' credit starvation."""
    mask = (BitField("credit_mask", 0, MASK_BITS, "one bit per port, from 0"),)
    returns = (
        BitField("multiplier", 0, MULTIPLIER_BITS, "multiplier of CS_ReturnDelay"),
        BitField("shift", MULTIPLIER_BITS, SHIFT_BITS, "shift of CS_ReturnDelay"),
        BitField("threshold", MULTIPLIER_BITS + SHIFT_BITS, THRESHOLD_BITS, "CS_Threshold"),
    )
    parts = (
        ("switch_credit_mask", "Credit_Mask of the switch", mask, StarvationSelect.CREDIT_MASK),
        ("switch_credit_starvation", "CS_Threshold and CS_ReturnDelay of the switch", returns, StarvationSelect.RETURN),
    )
    return tuple(
        Window(name, meaning, "starvation", fields, (), {"select": select}) for name, meaning, fields, select in parts
    )


def _switch_schedule(scheduler: str) -> tuple[Register, ...]:
    """Return the registers of the outputs' schedulers. Windows write to all selected outputs."""
    windows = SCHEDULERS[scheduler].switch_registers("schedule")
    if not windows:
        return ()
    words = _MAX_PORTS // 32
    chosen = Setting(
        "schedule_ports", "outputs whose schedulers accept writes, one bit per output", "schedule_ports", words
    )
    swap = Command("swap", "outputs whose shadow tables become active, one bit per output", "swap", words)
    return (chosen, *([swap] if SCHEDULERS[scheduler].swaps else []), *windows)


_MAPS: dict[str, Callable[[Mapping[str, Any]], tuple[Register, ...]]] = {
    **{each.name: each.registers for each in SCHEDULERS.values()},
    "sl2vl": lambda _parameters: _sl2vl(),
    "sc": lambda _parameters: _sc(),
    "lft": lambda _parameters: _lft(),
    "credit_opa": _credit_opa,
    "cc_marker": _cc_marker,
    "cc_source": _cc_source,
    "pause": _pause,
    "e2cm_prober": _e2cm_prober,
    "ib_switch": lambda parameters: _switch(parameters, _sl2vl("sl2vl")),
    "opa_switch": lambda parameters: _switch(parameters, _sc("sc")),
}
REGISTERED = tuple(_MAPS)
"""Blocks with registers."""
NUMBERS = {
    **{each.name: each.number for each in SCHEDULERS.values()},
    "sl2vl": 5,
    "sc": 6,
    "lft": 7,
    "credit_opa": 8,
    "ib_switch": 9,
    "opa_switch": 10,
    "cc_marker": 12,
    "cc_source": 13,
    "pause": 14,
    "e2cm_prober": 15,
}
"""Block numbers in identity registers; a number is never reused."""
