"""Lists of constant-bit-rate connections: CSV or Parquet (``docs/network.md``, Connections)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.documents.frames import check_columns, numbers, read_frame, whole_numbers
from vlane.errors import InputError
from vlane.units import MAX_PACKET_BYTES

MOST_INTERVAL = 1 << 28
"""Largest interval between packets in cycles."""


class CbrList(NamedTuple):
    """Connections in file order.

    Parameters
    ----------
    source, target : array of int64, (connections,)
        Hosts at both ends.
    sl : array of int64, (connections,)
        Service level.
    bytes : array of int64, (connections,)
        Packet size from LRH to VCRC.
    interval : array of float64, (connections,)
        Cycles between packets, 1 to ``MOST_INTERVAL``.
    deadline : array of int64, (connections,)
        Largest allowed latency of a packet in cycles; 0 for none.
    row : array of int64, (connections,)
        Row of the file, from 0.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    sl: NDArray[np.int64]
    bytes: NDArray[np.int64]
    interval: NDArray[np.float64]
    deadline: NDArray[np.int64]
    row: NDArray[np.int64]

    @classmethod
    def none(cls) -> CbrList:
        """Return an empty list."""
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, empty, empty, np.zeros(0), empty, empty)

    def of(self, some: NDArray[np.bool_]) -> CbrList:
        """Return the selected connections in the same order."""
        source, target, sl, size, interval, deadline, row = self
        return CbrList(source[some], target[some], sl[some], size[some], interval[some], deadline[some], row[some])


def read_cbr_list(path: Path, *, levels: int) -> CbrList:
    """Return the connections of a file.

    Columns are ``source``, ``destination``, ``sl``, ``bytes``, ``interval_cycles`` and optionally ``deadline_cycles``,
    where 0 means no deadline. Other columns are ignored.

    Parameters
    ----------
    levels : int
        Number of SLs.

    Raises
    ------
    InputError
        If the file cannot be read, a column is missing, a value is out of range, or there are no connections.
    """
    frame = read_frame(path, "list of connections")
    bounds = {
        "source": (0, 1 << 16),
        "destination": (0, 1 << 16),
        "sl": (0, levels - 1),
        "bytes": (1, MAX_PACKET_BYTES),
    }
    check_columns(frame, (*bounds, "interval_cycles"), path)
    if not len(frame):
        problem = ": the file has no rows below the header"
        raise InputError("connections", "given", "none", problem=problem, source=str(path))
    columns = [whole_numbers(frame[name], *each, path) for name, each in bounds.items()]
    interval = numbers(frame["interval_cycles"], path, least=1, most=MOST_INTERVAL)
    deadline = np.zeros(len(frame), np.int64)
    if "deadline_cycles" in frame.columns:
        deadline = whole_numbers(frame["deadline_cycles"], 0, 1 << 40, path)
    return CbrList(columns[0], columns[1], columns[2], columns[3], interval, deadline, np.arange(len(frame)))
