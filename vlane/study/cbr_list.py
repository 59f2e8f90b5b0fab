"""Lists of connections that send at a constant bit rate: CSV or Parquet (``docs/network.md``, Connections)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.documents.frames import check_columns, numbers, read_frame, whole_numbers
from vlane.errors import InputError
from vlane.units import MAX_PACKET_BYTES

MOST_INTERVAL = 1 << 28
"""Most cycles from packet to packet."""


class CbrList(NamedTuple):
    """Connections, in the order of a file.

    Parameters
    ----------
    source, target, sl, bytes : array of int64, (connections,)
        NICs, service level, and the size of every packet from LRH to VCRC.
    interval : array of float64, (connections,)
        Cycles from packet to packet, 1 to ``MOST_INTERVAL``.
    deadline : array of int64, (connections,)
        Cycles that a packet may take; 0 for any number.
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
        """Return a list without connections."""
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, empty, empty, np.zeros(0), empty, empty)

    def of(self, some: NDArray[np.bool_]) -> CbrList:
        """Return some of the connections, in the same order."""
        source, target, sl, size, interval, deadline, row = self
        return CbrList(source[some], target[some], sl[some], size[some], interval[some], deadline[some], row[some])


def read_cbr_list(path: Path, *, levels: int) -> CbrList:
    """Return the connections of a file.

    Columns: ``source``, ``destination``, ``sl``, ``bytes``, ``interval_cycles`` and, if packets have deadlines,
    ``deadline_cycles``, in which 0 is none; other columns are ignored.

    Parameters
    ----------
    levels : int
        SLs that there are.

    Raises
    ------
    InputError
        If the file cannot be read, a column is missing or holds what is not in its range, or there is no connection.
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
        raise InputError("connections", "at least one row below the names of the columns", "none", source=str(path))
    columns = [whole_numbers(frame[name], *each, path) for name, each in bounds.items()]
    interval = numbers(frame["interval_cycles"], path, least=1, most=MOST_INTERVAL)
    deadline = np.zeros(len(frame), np.int64)
    if "deadline_cycles" in frame.columns:
        deadline = whole_numbers(frame["deadline_cycles"], 0, 1 << 40, path)
    return CbrList(columns[0], columns[1], columns[2], columns[3], interval, deadline, np.arange(len(frame)))
