"""Checks of VOQsw's tables: every check follows packets along the tables only (``docs/voqsw.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.fabric.loops import only_loops
from vlane.planning.voqsw_paths import Ints, Paths, Tuples

__all__ = ["Clash", "Misplaced", "find_clashes", "find_misplaced", "lanes_of_hops", "waiting_circle"]

_LANES = 16


class Clash(NamedTuple):
    """SL2VL entry whose packets need different VLs.

    Parameters
    ----------
    switch, source, out : int
        Switch, input and output of the entry.
    sl : int
        Service level.
    outputs : tuple of int
        Different outputs at the next switch, among the considered tuples whose packets use this entry.
    """

    switch: int
    source: int
    out: int
    sl: int
    outputs: tuple[int, ...]


class Misplaced(NamedTuple):
    """Packets of a considered tuple in a VL other than the VL of their next output.

    Parameters
    ----------
    switch : int
        Switch.
    source, out : int
        Input and output of the switch.
    to : int
        Output at the next switch.
    vl, wanted : int
        Actual VL, and VL of the next output.
    paths : int
        Number of paths.
    """

    switch: int
    source: int
    out: int
    to: int
    vl: int
    wanted: int
    paths: int


def find_clashes(tuples: Tuples, considered: int, path_sl: Ints) -> list[Clash]:
    """Return the SL2VL entries used by several of the first ``considered`` tuples with different next outputs."""
    kept = tuples.passed < considered
    rank = tuples.passed[kept]
    sl = np.repeat(path_sl, np.diff(tuples.first))[kept]
    most, ports = int(sl.max(initial=0)) + 1, tuples.paths.cabled.ports
    found = np.unique((tuples.row[rank] * most + sl) * ports + tuples.place[rank, 3])
    entry, counts = np.unique(found // ports, return_counts=True)
    clashes = []
    for number in entry[counts > 1].tolist():
        row, level = divmod(number, most)
        end, out = divmod(row, ports)
        outputs = tuple(int(each) % ports for each in found[found // ports == number])
        clashes.append(Clash(end // ports, end % ports, out, level, outputs))
    return clashes


def find_misplaced(
    paths: Paths, considered: Ints, lanes: Ints, group: Ints, vl: NDArray[np.uint8], path_sl: Ints
) -> list[Misplaced]:
    """Return the considered tuples with packets in a wrong VL.

    Parameters
    ----------
    paths : Paths
        Paths along the forwarding tables in use.
    considered : array of int64, (tuples, 4)
        Switch, input, output and next output of every considered tuple.
    lanes : array of int64, (groups, VLs)
        VL of each output, for each group.
    group : array of int64, (hops)
        Required group of each hop's VL.
    vl : array of uint8, (switches, inputs, outputs, 16)
        SL2VL tables.
    path_sl : array of int64, (paths)
        SL of each path.
    """
    ports = paths.cabled.ports
    inner = np.flatnonzero(~paths.last)
    to = paths.row[inner + 1] % ports
    number = paths.row[inner] * ports + to
    asked = ((considered[:, 0] * ports + considered[:, 1]) * ports + considered[:, 2]) * ports + considered[:, 3]
    is_asked = np.isin(number, asked)
    number, to, inner = number[is_asked], to[is_asked], inner[is_asked]
    got, wanted = lanes_of_hops(paths, vl, path_sl)[inner], lanes[group[inner], to % lanes.shape[1]]
    wrong = got != wanted
    found, counts = np.unique((number[wrong] * _LANES + got[wrong]) * _LANES + wanted[wrong], return_counts=True)
    misplaced = []
    for each, count in zip(found.tolist(), counts.tolist(), strict=True):
        rest, lane = divmod(each, _LANES)
        rest, is_on = divmod(rest, _LANES)
        rest, output = divmod(rest, ports)
        end, out = divmod(rest, ports)
        misplaced.append(Misplaced(end // ports, end % ports, out, output, is_on, lane, count))
    return misplaced


def lanes_of_hops(paths: Paths, vl: NDArray[np.uint8], path_sl: Ints) -> Ints:
    """Return the outgoing VL of each hop."""
    rows = vl.reshape(-1, vl.shape[-1])
    return rows[paths.row, path_sl[paths.path]].astype(np.int64)


def waiting_circle(paths: Paths, vl: NDArray[np.uint8], path_sl: Ints) -> list[tuple[int, int, int]]:
    """Return the links of a credit loop, each as (switch, output, VL), or empty if there is no loop.

    A packet in the buffer of a VL behind one output waits for free space of the next VL behind the next output.
    """
    ports = paths.cabled.ports
    lane = lanes_of_hops(paths, vl, path_sl)
    end = paths.row // ports**2 * ports + paths.row % ports
    channel = end * _LANES + lane
    inner = np.flatnonzero(~paths.last)
    most = paths.cabled.switches * ports * _LANES
    held, wanted = np.divmod(np.unique(channel[inner] * most + channel[inner + 1]), most)
    held, wanted = only_loops(held, wanted)
    if not len(held):
        return []
    after = dict(zip(held.tolist(), wanted.tolist(), strict=True))
    at, seen = int(held[0]), dict[int, int]()
    while at not in seen:
        seen[at] = len(seen)
        at = after[at]
    circle = list(seen)[seen[at] :]
    return [(*divmod(each // _LANES, ports), each % _LANES) for each in circle]
