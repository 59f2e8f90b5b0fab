"""What must hold of VOQsw's tables: each check follows packets by the tables alone (``docs/voqsw.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.fabric.loops import only_loops
from vlane.planning.voqsw_paths import Ints, Paths, Tuples

__all__ = ["Clash", "Misplaced", "find_clashes", "find_misplaced", "lanes_of_hops", "waiting_circle"]

_LANES = 16


class Clash(NamedTuple):
    """Packets of one SL that want different VLs of one SL2VL entry.

    Parameters
    ----------
    switch, source, out : int
        Where: the switch, its input and output.
    sl : int
        The level.
    outputs : tuple of int
        Outputs at the next switch, of considered tuples, between which the entry cannot tell.
    """

    switch: int
    source: int
    out: int
    sl: int
    outputs: tuple[int, ...]


class Misplaced(NamedTuple):
    """Packets of a considered tuple that are not in the VL of their output.

    Parameters
    ----------
    switch, source, out, to : int
        The tuple.
    vl, wanted : int
        The VL that they get at the next switch, and the one of the output there.
    paths : int
        How many paths they are.
    """

    switch: int
    source: int
    out: int
    to: int
    vl: int
    wanted: int
    paths: int


def find_clashes(tuples: Tuples, considered: int, path_sl: Ints) -> list[Clash]:
    """Return where one VL per (switch, input, output, SL) is not enough for the considered tuples of all paths."""
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
    """Return the considered tuples of which some packet sits in another VL than its output's.

    Parameters
    ----------
    paths : Paths
        Followed along the forwarding tables in use.
    considered : array of int64, (tuples, 4)
        Switch, input, output and next output of every considered tuple.
    lanes : array of int64, (groups, VLs)
        VLs of output 0, 1, ...
    group : array of int64, (hops)
        Group that each hop's VL is to be of.
    vl : array of uint8, (switches, inputs, outputs, 16)
        The tables.
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
    """Return the VL that each hop's switch gives to the path's packets for its output."""
    rows = vl.reshape(-1, vl.shape[-1])
    return rows[paths.row, path_sl[paths.path]].astype(np.int64)


def waiting_circle(paths: Paths, vl: NDArray[np.uint8], path_sl: Ints) -> list[tuple[int, int, int]]:
    """Return links that wait for each other's buffers, each as (switch, output, VL); none if there is no such circle.

    A packet that holds room of a VL behind one output waits for room of its next VL behind the next output.
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
