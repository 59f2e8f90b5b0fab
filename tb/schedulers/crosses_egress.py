"""Crosses of all egress schedulers: events at their shared ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vlane.egress import ListCode
from vlane.tb.machinery.native.crosses import Cross, Cycles, Event, Truths, after, together


def _packet_starts(cycles: Cycles) -> Truths:
    return cycles.once("starts", lambda: cycles.on("grant") & cycles.on("ready"))


def _code_event(code: ListCode) -> Event:
    return lambda cycles: _packet_starts(cycles) & (cycles.bits("from_list") == int(code))


def _port_event(port: str) -> Event:
    return lambda cycles: cycles.on(port)


def _delayed_port_event(port: str) -> Event:
    return lambda cycles: after(cycles.on(port))


EVENTS: Mapping[str, Callable[[Cycles], Any]] = {
    "start": _packet_starts,
    "start of High": _code_event(ListCode.HIGH),
    "start of Low": _code_event(ListCode.LOW),
    "start of VL15": _code_event(ListCode.VL15),
    "busy link": lambda cycles: ~cycles.on("ready"),
    "hold": _port_event("hold_data"),
    "reset": _port_event("rst"),
    "write": _port_event("program__enable"),
    "swap": _port_event("swap"),
    "swap pending": _port_event("swap_pending"),
    "after reset": _delayed_port_event("rst"),
    "after write": _delayed_port_event("program__enable"),
    "after swap": _delayed_port_event("swap"),
}
"""Conditions on the ports in a cycle, or in the previous cycle."""


_AHEAD = "vl15_first"
"""Rule of most schedulers: VL15 was sent before a data lane that could send."""


def shared_crosses(parameters: Mapping[str, Any], *, writes: bool = True, ahead: str = _AHEAD) -> tuple[Cross, ...]:
    """Return the crosses of every scheduler.

    Parameters
    ----------
    parameters : mapping
        Parameters of the instance.
    writes : bool
        Whether the instance has a program port.
    ahead : str
        Name of its rule for VL15 before a data lane.
    """
    crosses = together("hold x busy link")
    crosses += together("start x reset", "busy link x reset", "hold x reset", forbidden_inputs=True)
    if writes:
        crosses += together(
            "start x write",
            "start x after write",
            "busy link x write",
            "hold x write",
            "held x write",
            "reset x write",
            forbidden_inputs=True,
        )
    if parameters["vl15"]:
        crosses += together("start of VL15 x hold", "start of VL15 x reset", f"{ahead} x reset", forbidden_inputs=True)
        if writes:
            crosses += together("start of VL15 x write", "start of VL15 x after write", f"{ahead} x write")
    return crosses


def swap_crosses(parameters: Mapping[str, Any], *, ahead: str = _AHEAD) -> tuple[Cross, ...]:
    """Return the additional crosses of a scheduler with swapped tables (the parameters: see ``shared_crosses``)."""
    crosses = together(
        "swap x start", "swap x busy link", "swap pending x busy link", "swapped x start", "start x after swap"
    )
    crosses += together(
        "swap x hold",
        "swap x held",
        "swap x write",
        "swap x reset",
        "swap pending x write",
        "swap pending x reset",
        "swap pending x swap",
        "swapped x hold",
        "swapped x write",
        "swapped x reset",
        forbidden_inputs=True,
    )
    if parameters["vl15"]:
        crosses += together("swapped x start of VL15", f"swapped x {ahead}", forbidden_inputs=True)
    return crosses
