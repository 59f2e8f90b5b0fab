"""Files with the traffic of an egress port: packet arrivals and returned credits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from vlane.documents.textfile import TextFile
from vlane.errors import InputError
from vlane.schedulers.vlarb import VL15
from vlane.units import MAX_PACKET_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAX_CYCLE = 1 << 62
_MAX_BLOCKS = 1 << 31


class Arrival(NamedTuple):
    """Packet that arrives at the port.

    Parameters
    ----------
    cycle : int
        Cycle of the arrival; the packet may start in the same cycle.
    vl : int
        Lane, 0 to 15.
    bytes : int
        Length from LRH to VCRC.
    sl : int
        Service level; 0 if the file has none.
    line : int
        Line of the file; 0 if not from a file.
    """

    cycle: int
    vl: int
    bytes: int
    sl: int
    line: int = 0


class Credit(NamedTuple):
    """Credits that the receiver grants.

    Parameters
    ----------
    cycle : int
        First cycle with the credits.
    vl : int
        Lane, 0 to 14; VL15 has no credits.
    blocks : int
        Additional blocks of 64 bytes.
    """

    cycle: int
    vl: int
    blocks: int


def read_arrivals(path: Path) -> list[Arrival]:
    """Return the arrivals of a CSV ``cycle,vl,bytes[,sl]``, sorted by cycle. Equal cycles keep the file order.

    Raises
    ------
    InputError
        If the header is wrong, there are no rows, a row has missing cells, or a value is out of range.
    """
    limits = {"cycle": (0, _MAX_CYCLE), "vl": (0, VL15), "bytes": (1, MAX_PACKET_BYTES), "sl": (0, 15)}
    rows = _rows(path, limits, optional="sl")
    return sorted((Arrival(**{"sl": 0, **row}, line=line) for line, row in rows), key=lambda arrival: arrival.cycle)


def read_credits(path: Path) -> list[Credit]:
    """Return the credits of a CSV ``cycle,vl,blocks``, sorted by cycle.

    Raises
    ------
    InputError
        If the header is wrong, there are no rows, a row has missing cells, or a value is out of range.
    """
    limits = {"cycle": (0, _MAX_CYCLE), "vl": (0, VL15), "blocks": (0, _MAX_BLOCKS)}
    return sorted((Credit(**row) for _, row in _rows(path, limits, vl15=False)), key=lambda credit: credit.cycle)


def _rows(
    path: Path, limits: dict[str, tuple[int, int]], optional: str = "", *, vl15: bool = True
) -> Iterator[tuple[int, dict[str, int]]]:
    """Yield each row with its line number."""
    file = TextFile(path)
    header: list[str] = []
    count, header_line = 0, 0
    for line in file:
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split(",")]
        if not header:
            header = [cell.removeprefix("\ufeff") for cell in cells]
            header_line = file.line
            needed = [name for name in limits if name != optional]
            if sorted(header) not in (sorted(needed), sorted(limits)):
                file.refuse("header", ",".join(needed) + (f"[,{optional}]" if optional else ""), line.strip())
            continue
        if len(cells) != len(header):
            file.refuse("number of cells in the row", str(len(header)), len(cells))
        count += 1
        row = {name: file.number(name, cell, *limits[name]) for name, cell in zip(header, cells, strict=True)}
        if row["vl"] == VL15 and not vl15:
            file.refuse("vl", f"0 to {VL15 - 1} (VL15 has no credits)", VL15)
        yield file.line, row
    if not count:
        problem = ": the file has no rows below the header"
        raise InputError("rows", "given", "none", problem=problem, source=str(path), line=header_line)
