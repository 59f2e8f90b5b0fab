"""Packet traces for replay in a network: CSV or Parquet, including files of ``--trace``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vlane.documents.frames import check_columns, read_frame, whole_numbers
from vlane.errors import InputError
from vlane.tables.sc import SC_COUNT
from vlane.units import MAX_PACKET_BYTES

_MOST_CYCLE = 1 << 40
_COLUMNS = {
    "cycle": (0, _MOST_CYCLE),
    "source": (0, 1 << 16),
    "destination": (0, 1 << 16),
    "sl": (0, SC_COUNT - 1),
    "bytes": (1, MAX_PACKET_BYTES),
}
"""Columns of a trace with smallest and largest value; other columns are ignored."""


def read_packet_trace(path: Path) -> NDArray[np.int64]:
    """Return (cycle, source, destination, SL, bytes) of every packet in file order.

    Raises
    ------
    InputError
        If the file cannot be read, a column is missing, a value is not an integer in range, or there are no packets.
    """
    frame = read_frame(path, "packet trace")
    check_columns(frame, _COLUMNS, path)
    if not len(frame):
        problem = ": the file has no rows below the header"
        raise InputError("packets", "given", "none", problem=problem, source=str(path))
    return np.stack([whole_numbers(frame[name], *bounds, path) for name, bounds in _COLUMNS.items()], axis=1)


def trace_remarks(rows: NDArray[np.int64], *, cycles: int) -> list[str]:
    """Return remarks about a trace for a run of ``cycles`` cycles, as sentences."""
    late, own = int((rows[:, 0] >= cycles).sum()), int((rows[:, 1] == rows[:, 2]).sum())
    said = {
        f"{late} of {len(rows)} packets of the trace are not sent: they start after the run's {cycles} cycles": late,
        f"{own} of {len(rows)} packets of the trace have equal source and destination": own,
    }
    return [sentence for sentence, count in said.items() if count]
