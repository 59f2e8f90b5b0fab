"""Ports of single egress schedulers, and the functions that write them."""

from __future__ import annotations

from typing import NamedTuple

from vlane.golden.oracle.ports import Port
from vlane.schedulers.writes import ScheduleSelect

ENTRY_BITS = 8
"""Width of a weight or quantum in bits."""


(STALE, UNREACHABLE, BAD) = range(3)
"""Indices of outputs that depend on the tables: whether they must be computed again, and their values."""


class SpecificPorts(NamedTuple):
    """Ports of a scheduler in addition to the common ones.

    Parameters
    ----------
    program : tuple of Port
        Program-port fields after the enable, in the order of a write; empty without a program port.
    inputs, outputs : tuple of Port
        Other ports, in the order of the elements of ``show``.
    """

    program: tuple[Port, ...] = ()
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()


def schedule_program(weight_bits: int, about: str, requester_bits: int = 5) -> tuple[Port, ...]:
    """Return the program port of a single-list scheduler. ``about`` describes the weight."""
    return (
        Port("program__select", 1, 1, "TABLE: entry or requester value; MAP: requester of a lane.", ScheduleSelect),
        Port("program__index", 7, 1, "Entry, requester or lane; an absent one writes nothing."),
        Port("program__requester", requester_bits, 1, "Requester of the entry or of the lane."),
        Port("program__weight", weight_bits, 1, about),
    )


def behind(data_vls: int) -> Port:
    """Return the input of line-rate forms for packets behind the heads."""
    return Port("behind", data_vls, 1, "Bit per data lane: a second packet is queued and fits after the head.")


def unreachable(width: int, about: str) -> Port:
    """Return the output for lanes or requesters that are never served."""
    return Port("unreachable", width, 1, about)


def deficits(requesters: int, accumulated_bits: int) -> tuple[Port, ...]:
    """Return the state outputs of schedulers with deficits, the accumulated weight first."""
    return (
        Port("accumulated", accumulated_bits, 1, "Accumulated weight of the turn in blocks."),
        Port("deficit", 7, requesters, "Deficit of each requester in blocks."),
    )
