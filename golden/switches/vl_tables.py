"""SL2VL tables of InfiniBand switches and the routing of a packet (stage RT and IBS-10, ``docs/ib_switch.md``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.switches.inputs import DROPPED, NO_VL, UNKNOWN_LID, LookUp, local_port, output_of, switch_of


class VLTables(NamedTuple):
    """SL2VL tables of all switches.

    Parameters
    ----------
    vl : array of uint8, (rows, outputs, SLs)
        Outgoing VL; 15 drops. The last index is the SL, or the incoming VL if ``by_lane``.
    row : array of int32, (switches, inputs)
        Row of each input.
    by_lane : bool
        The last index of ``vl`` is the incoming VL.
    """

    vl: NDArray[np.uint8]
    row: NDArray[np.int32]
    by_lane: bool


def tables_with_shared_rows(vl: NDArray[np.uint8], *, by_lane: bool) -> VLTables:
    """Return tables given by (switch, input, output, SL). Equal rows are stored once."""
    switches, inputs = vl.shape[:2]
    numbers: dict[bytes, int] = {}
    if vl.strides[:2] == (0, 0):  # one row for all, by construction
        return VLTables(vl[0, :1].copy(), np.zeros((switches, inputs), np.int32), by_lane)
    row = [numbers.setdefault(vl[each].tobytes(), len(numbers)) for each in np.ndindex(switches, inputs)]
    rows = np.frombuffer(b"".join(numbers), np.uint8).reshape(-1, *vl.shape[2:])
    return VLTables(rows.copy(), np.array(row, np.int32).reshape(switches, inputs), by_lane)


def tables_with_row_per_input(vl: NDArray[np.uint8], *, by_lane: bool) -> VLTables:
    """Return tables given by (switch, input, output, SL), with a separate row for each input, without a copy."""
    switches, inputs = vl.shape[:2]
    row = np.arange(switches * inputs, dtype=np.int32).reshape(switches, inputs)
    return VLTables(vl.reshape(switches * inputs, *vl.shape[2:]), row, by_lane)


@inner
def route(switches: Any, port: int, dlid: int, sl: int, lane: int, channel: int) -> LookUp:
    """Return the output, outgoing VL and channel of a packet, or ``DROPPED``, the drop cause and the channel."""
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
