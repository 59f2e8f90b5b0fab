"""The VL tables of InfiniBand's switches, and the look-up of a packet (``docs/ib_switch.md``, stage RT, IBS-10)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.switches.inputs import DROPPED, NO_VL, UNKNOWN_LID, LookUp, local_port, output_of, switch_of


class VLTables(NamedTuple):
    """SL2VL of every switch.

    Parameters
    ----------
    vl : array of uint8, (rows, outputs, SLs)
        Outgoing VL, 15 drops; by SL, or by incoming VL where ``by_lane``.
    row : array of int32, (switches, inputs)
        Which row is an input's.
    by_lane : bool
        What the last index of ``vl`` is.
    """

    vl: NDArray[np.uint8]
    row: NDArray[np.int32]
    by_lane: bool


def rows_shared(vl: NDArray[np.uint8], *, by_lane: bool) -> VLTables:
    """Return tables given by (switch, input, output, SL), each different row once."""
    switches, inputs = vl.shape[:2]
    numbers: dict[bytes, int] = {}
    if vl.strides[:2] == (0, 0):  # one row for all, by construction
        return VLTables(vl[0, :1].copy(), np.zeros((switches, inputs), np.int32), by_lane)
    row = [numbers.setdefault(vl[each].tobytes(), len(numbers)) for each in np.ndindex(switches, inputs)]
    rows = np.frombuffer(b"".join(numbers), np.uint8).reshape(-1, *vl.shape[2:])
    return VLTables(rows.copy(), np.array(row, np.int32).reshape(switches, inputs), by_lane)


def rows_apart(vl: NDArray[np.uint8], *, by_lane: bool) -> VLTables:
    """Return tables given by (switch, input, output, SL), a row for each input, not copied."""
    switches, inputs = vl.shape[:2]
    row = np.arange(switches * inputs, dtype=np.int32).reshape(switches, inputs)
    return VLTables(vl.reshape(switches * inputs, *vl.shape[2:]), row, by_lane)


@inner
def route(switches: Any, port: int, dlid: int, sl: int, lane: int, channel: int) -> LookUp:
    """Look up a packet at an input that it reached on a VL, of switches with VL tables."""
    inputs, tables = switches.inputs, switches.tables
    output = output_of(inputs, port, dlid)
    if output >= tables.vl.shape[1]:
        return DROPPED, UNKNOWN_LID, channel
    index = lane if tables.by_lane else sl
    row = tables.row[switch_of(inputs, port), local_port(inputs, port)]
    outgoing_vl = int(tables.vl[row, output, index])
    if outgoing_vl >= inputs.queues.queue.shape[1]:
        return DROPPED, NO_VL, channel
    return output, outgoing_vl, channel
