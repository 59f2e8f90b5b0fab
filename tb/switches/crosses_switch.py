"""Crosses of both kinds of switch: phases, drop causes, lanes, table writes, credits and grants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.credits.credit_schemes import CREDIT_SCHEMES, RETURNS
from vlane.packets.drop_cause import DropCause
from vlane.tb.machinery.native.crosses import Cross, Cycles, Event, Truths, after, together

JUDGED_FROM_CYCLES = 200_000
"""Length of a run, in cycles, from which on every cross must have occurred; each phase then has its full length."""

_ARRIVAL = 2
"""Cycles from a packet's first flit to the report of its drop."""

CAUSES = tuple(cause.name.lower() for cause in DropCause if cause)
"""Drop causes, each also the name of a rule."""

PHASES = ("light", "saturated", "one flit", "largest", "hot spot", "slow receivers", "rewritten", "starved", "anything")
"""Names of the phases."""

_CAUSE_BITS = 3
_DROPPING = {
    "rewritten": (DropCause.UNKNOWN_LID, DropCause.NO_VL, DropCause.PORT_0),
    "anything": (DropCause.UNKNOWN_LID, DropCause.NO_VL, DropCause.PORT_0, DropCause.NO_ROOM),
}
"""Phases with drops from the first round on, and their causes."""


def _drops(cycles: Cycles, ports: int) -> dict[tuple[int, int, bool], Truths]:
    """Return the cycles in which a packet is dropped, by cause, lane, and whether it has a single flit."""
    found: dict[tuple[int, int, bool], Truths] = {}
    for port in range(ports):
        causes = cycles.bits("dropped", port, _CAUSE_BITS)
        at = np.flatnonzero(causes)
        at = at[at >= _ARRIVAL]
        lanes = cycles.bits(f"rx__{port}__vl")[at - _ARRIVAL]
        single = cycles.on(f"rx__{port}__last")[at - _ARRIVAL]
        for row, cause, lane, is_one in zip(at, causes[at], lanes, single, strict=True):
            key = (int(cause), int(lane), bool(is_one))
            if key not in found:
                found[key] = np.zeros(len(causes), np.bool_)
            found[key][row] = True
    return found


def _drop_event(ports: int, cause: int, lane: int | None = None, *, single: bool | None = None) -> Event:
    """Return the event of a drop for a cause, optionally on one lane, of single-flit or of longer packets."""

    def happened(cycles: Cycles) -> Any:
        drops = cycles.once("drops", lambda: _drops(cycles, ports))
        wanted = [
            truths
            for (each, of, is_one), truths in drops.items()
            if each == cause and lane in (None, of) and single in (None, is_one)
        ]
        return np.logical_or.reduce(wanted) if wanted else np.False_

    return happened


def _any_of(ports: int, name: str) -> Event:
    return lambda cycles: np.logical_or.reduce([cycles.on(name.format(port)) for port in range(ports)])


def _start_after_credit(ports: int, credit_in: str, blocks: str) -> Event:
    """Return the event that an output starts a packet one cycle after a credit for the packet's lane."""

    def happened(cycles: Cycles) -> Any:
        found: NDArray[np.bool_] = np.zeros(0, np.bool_)
        for port in range(ports):
            starts = cycles.on(f"tx__{port}__valid") & cycles.on(f"tx__{port}__first")
            lane = cycles.bits(f"tx__{port}__vl")
            credit_out = after(cycles.on(f"{credit_in}__{port}__{blocks}"))
            if cycles.has(f"{credit_in}__{port}__vl"):
                same = lane == after(cycles.bits(f"{credit_in}__{port}__vl"))
            else:
                same = (after(cycles.bits(f"{credit_in}__{port}__{blocks}")) >> lane & np.uint64(1)) != 0
            found = starts & credit_out & same | (found if len(found) else False)
        return found

    return happened


def switch_events(parameters: Mapping[str, Any]) -> dict[str, Event]:
    """Return the named conditions on the ports of a switch from which crosses are formed, in addition to the rules."""
    ports, lanes = parameters["ports"], parameters["data_vls"]
    by_fcp = CREDIT_SCHEMES[parameters.get("credit", RETURNS.name)].by_fcps
    credit_in, credit_out, blocks = ("fcp_rx", "fcp_tx", "valid") if by_fcp else ("far_returned", "returned", "blocks")
    events: dict[str, Event] = {
        "LFT written": lambda cycles: cycles.on("lft__enable"),
        "top written": lambda cycles: cycles.on("lft__enable") & cycles.on("lft__top"),
        "credit received": _any_of(ports, f"{credit_in}__{{}}__{blocks}"),
        "credit returned": _any_of(ports, f"{credit_out}__{{}}__{blocks}"),
        "start on the lane just credited": _start_after_credit(ports, credit_in, blocks),
        "reset": lambda cycles: cycles.on("rst"),
    }
    for phase in PHASES:
        events[phase] = lambda cycles, phase=phase: np.bool_(cycles.phase == phase)  # type: ignore[misc]
    for cause in DropCause:
        if not cause:
            continue
        name = cause.name.lower()
        events[f"{name} of one flit"] = _drop_event(ports, int(cause), single=True)
        events[f"{name} of several flits"] = _drop_event(ports, int(cause), single=False)
        for lane in range(lanes):
            events[f"{name} on lane {lane}"] = _drop_event(ports, int(cause), lane)
    return events


def drops(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses of packet drops: (phase, cause, lane) and (cause, packet size)."""
    found: tuple[Cross, ...] = ()
    for phase, causes in _DROPPING.items():
        for cause in causes:
            name = cause.name.lower()
            found += together(*(f"{phase} x {name} on lane {lane}" for lane in range(parameters["data_vls"])))
            found += together(f"{phase} x {name} of one flit")
            if parameters["largest"] > 1:
                found += together(f"{phase} x {name} of several flits")
    return found


def shared() -> tuple[Cross, ...]:
    """Return the crosses that the InfiniBand and the Omni-Path switch share."""
    found = together(
        "table_written x granted",
        "table_written x started",
        "table_written x waited",
        "table_written x credit received",
        "table_written x credit returned",
        "LFT written x granted",
        "top written x granted",
        "granted x credit received",
        "granted x credit returned",
        "several_granted x credit returned",
        "started x credit received",
        "start on the lane just credited x started",
        "waited x credit received",
        "waited x granted",
        "stalled x granted",
        "stalled x credit received",
        "one_flit x several_granted",
        "one_flit x started",
        "granted x started",
        "reset x granted",
    )
    for cause in CAUSES:
        found += together(f"{cause} x granted", f"{cause} x started", f"{cause} x credit returned")
    found += together(*(f"{cause} x table_written" for cause in CAUSES if cause != "no_room"))
    found += together(*(f"{phase} x several_granted" for phase in PHASES))
    found += together(*(f"{phase} x waited" for phase in ("slow receivers", "starved", "anything")))
    found += together(*(f"{phase} x stalled" for phase in ("hot spot", "slow receivers", "anything")))
    beside = ("table_written", "granted", "started", "credit received")
    return (*found, *together(*(f"limit_told x {name}" for name in beside)))
