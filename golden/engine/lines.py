"""Cache lines in which records of several kinds lie side by side (``docs/engine.md``).

What different nouns keep of one port is used in the same cycle: in one line it is loaded at once. Each noun has its own
``Records`` still, whose fields are some bytes of every line.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from vlane.golden.engine.records import Records, fields_of, new_records

__all__ = ["LINE_BYTES", "Apart", "Lines", "PortLines", "apart", "port_lines"]

R = TypeVar("R")

LINE_BYTES = 64


class Lines:
    """A line for each place, filled with the records of one kind after another, and another line when it is full.

    Parameters
    ----------
    *counts : int
        Places along each dimension.
    """

    def __init__(self, *counts: int) -> None:
        self._counts = counts
        self._bytes, self._used = np.zeros(0, np.uint8), LINE_BYTES

    def new_records(self, kind: type[R]) -> Records[R]:
        """Return zeroed records, one for each place."""
        offsets, used = _placed(kind, self._used)
        if used > LINE_BYTES:
            self._bytes = _aligned(*self._counts)
            offsets, used = _placed(kind, 0)
        self._used = used
        names, widths = zip(*fields_of(kind), strict=True)
        fields: Any = {"names": names, "formats": widths, "offsets": offsets, "itemsize": LINE_BYTES}
        return Records(self._bytes.view(np.dtype((np.record, fields)))[..., 0])


class Apart:
    """In place of ``Lines``: the records of each kind in an array of their own, without gaps.

    Parameters
    ----------
    *counts : int
        Places along each dimension.
    """

    def __init__(self, *counts: int) -> None:
        self._counts = counts

    def new_records(self, kind: type[R]) -> Records[R]:
        """Return zeroed records, one for each place."""
        return new_records(kind, *self._counts)


class PortLines(NamedTuple):
    """Where the records of ports lie.

    Parameters
    ----------
    port, lane : Lines or Apart
        One for each port, and for each lane of each port.
    """

    port: Lines | Apart
    lane: Lines | Apart


def port_lines(ports: int, lanes: int) -> PortLines:
    """Return lines of so many ports."""
    return PortLines(Lines(ports), Lines(ports, lanes))


def apart(ports: int, lanes: int) -> PortLines:
    """Return what puts the records of so many ports apart, kind by kind."""
    return PortLines(Apart(ports), Apart(ports, lanes))


def _placed(kind: type, used: int) -> tuple[list[int], int]:
    """Return where the fields lie behind so many bytes of a line, and how many are used then."""
    offsets = []
    for _, width in fields_of(kind):
        size = np.dtype(width).itemsize
        offsets.append(-(-used // size) * size)
        used = offsets[-1] + size
    return offsets, used


def _aligned(*counts: int) -> NDArray[np.uint8]:
    """Return zeroed lines; the first begins where a line of the cache does."""
    size = math.prod(counts) * LINE_BYTES
    held = np.zeros(size + LINE_BYTES, np.uint8)
    first = -held.ctypes.data % LINE_BYTES
    return held[first : first + size].reshape(*counts, LINE_BYTES)
