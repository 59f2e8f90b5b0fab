"""The VL tables of InfiniBand's switches, and the look-up of a packet (``docs/ib_switch.md``, stage RT, IBS-10)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.engine.kernel import inner
from vlane.golden.switches.inputs import DROPPED, NO_VL, UNKNOWN_LID, Route, local_port, output_of, switch_of

__all__ = ["VLTables", "route"]


class VLTables(NamedTuple):
    """SL2VL of every switch.

    Parameters
    ----------
    vl : array of uint8, (switches, inputs, outputs, 16)
        Outgoing VL, 15 drops; by SL, or by incoming VL where ``by_lane``.
    by_lane : bool
        What the last index of ``vl`` is.
    """

    vl: NDArray[np.uint8]
    by_lane: bool


@inner
def route(switches: Any, port: int, dlid: int, sl: int, lane: int, channel: int) -> Route:
    """Look up a packet at an input that it reached on a VL, of switches with VL tables."""
    inputs, tables = switches.inputs, switches.tables
    output = output_of(inputs, port, dlid)
    if output >= tables.vl.shape[1]:
        return DROPPED, UNKNOWN_LID, channel
    index = lane if tables.by_lane else sl
    outgoing_vl = int(tables.vl[switch_of(inputs, port), local_port(inputs, port), output, index])
    if outgoing_vl >= inputs.queues.queue.shape[1]:
        return DROPPED, NO_VL, channel
    return output, outgoing_vl, channel
