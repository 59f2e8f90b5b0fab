"""Ports that only some egress schedulers have, and how an oracle shows them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.oracle.ports import Port
from vlane.schedulers.writes import ScheduleSelect

ENTRY_BITS = 8
"""Width of a weight or a quantum."""


class OwnPorts(NamedTuple):
    """Ports of a scheduler beside those that all have.

    Parameters
    ----------
    program : tuple of Port
        Fields of the program port behind its enable, in the order of a write; none if nothing is programmed.
    inputs, outputs : tuple of Port
        The others, in the order in which its ``show`` counts their elements.
    """

    program: tuple[Port, ...] = ()
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()


def schedule_program(weight_bits: int, about: str, requester_bits: int = 5) -> tuple[Port, ...]:
    """Return the program port of a scheduler of one list; ``about`` is the meaning of a weight."""
    return (
        Port("program__select", 1, 1, "TABLE: entries or values; MAP: the map of lanes.", ScheduleSelect),
        Port("program__index", 7, 1, "Entry, requester or lane; an absent one writes nothing."),
        Port("program__requester", requester_bits, 1, "Requester of the entry or of the lane."),
        Port("program__weight", weight_bits, 1, about),
    )


def behind(data_vls: int) -> Port:
    """Return the input of the line-rate forms that looks behind the heads."""
    return Port("behind", data_vls, 1, "A bit per data lane: a packet is behind the head, and fits after it.")


def unreachable(width: int, about: str) -> Port:
    """Return the output that tells which lanes or requesters are never served."""
    return Port("unreachable", width, 1, about)


def deficits(requesters: int, accumulated_bits: int) -> tuple[Port, ...]:
    """Return the outputs that show what a scheduler with deficits counts: what is accumulated first."""
    return (
        Port("accumulated", accumulated_bits, 1, "Accumulated weight of the turn."),
        Port("deficit", 7, requesters, "Deficit of each requester."),
    )


@inner
def show_nothing(
    state: Any, given: NDArray[np.uint64], ins: NDArray[np.int64], shown: NDArray[np.uint64], outs: NDArray[np.int64]
) -> None:
    """Be the ``show`` of a scheduler without ports of its own."""
