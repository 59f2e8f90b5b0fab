"""Paths of a network and 4-tuples of the paths: stages 1 to 3 of VOQsw (``docs/voqsw.md``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cabled", "Ints", "Paths", "Tuples", "find_tuples", "follow_paths"]

Ints = NDArray[np.int64]

_NOWHERE = -1


@dataclass(frozen=True)
class Cabled:
    """Switches with their cables and hosts. An end is a port of a switch: switch x ports + port, both from 0.

    Parameters
    ----------
    switches, ports : int
        Number of switches, and number of ports of each switch.
    far : array of int64, (switches x ports)
        Far end of each end's cable to a switch; -1 for hosts and free ports.
    hosts : array of int64, (hosts)
        End of each host's cable.
    lids : array of int64, (hosts, 2)
        First LID and number of LIDs of each host.
    """

    switches: int
    ports: int
    far: Ints
    hosts: Ints
    lids: Ints


@dataclass(frozen=True)
class Paths:
    """Paths from every host to every LID of another host, in the order of source, destination and LID.

    A hop is a switch on a path. The row of a hop is the number of its SL2VL row: end of the input x ports + output.
    Hops of a path are consecutive, in the order of the path.

    Parameters
    ----------
    cabled : Cabled
        The network.
    source, target, dlid : array of int64, (paths)
        Source host, target host and destination LID.
    first : array of int64, (paths + 1)
        First hop of each path, followed by the total number of hops.
    row : array of int64, (hops)
        Row of each hop.
    lost : int
        Number of pairs, of a host and another host's LID, without a path along the forwarding tables.
    """

    cabled: Cabled
    source: Ints
    target: Ints
    dlid: Ints
    first: Ints
    row: Ints
    lost: int

    @cached_property
    def path(self) -> Ints:
        """Path of each hop."""
        return np.repeat(np.arange(len(self.source)), np.diff(self.first))

    @cached_property
    def last(self) -> NDArray[np.bool_]:
        """Whether each hop is the last of its path, where packets leave towards the destination."""
        last = np.zeros(len(self.row), bool)
        last[self.first[1:] - 1] = True
        return last


@dataclass(frozen=True)
class Tuples:
    """4-tuples of paths by rank: by decreasing number of paths, ties in the order of the numbers.

    A passage is the use of a tuple by a path.

    Parameters
    ----------
    paths : Paths
        Paths of the network.
    place : array of int64, (tuples, 4)
        Switch, input, output, output at the next switch.
    weight : array of int64, (tuples)
        Number of paths of each tuple, at least 1, in decreasing order.
    row : array of int64, (tuples)
        SL2VL row for the packets of the tuple; tuples of one row are neighbours.
    target : array of int64, (paths)
        Destination of each path.
    first : array of int64, (paths + 1)
        First passage of each path, followed by the number of passages. Only selected paths after ``of``.
    passed : array of int64, (passages)
        Rank of each passage's tuple.
    """

    paths: Paths
    place: Ints
    weight: Ints
    row: Ints
    target: Ints
    first: Ints
    passed: Ints

    def share(self, considered: int) -> float:
        """Return the fraction of the total weight that the first ``considered`` tuples have, or 1 without tuples."""
        whole = int(self.weight.sum())
        return int(self.weight[:considered].sum()) / whole if whole else 1.0

    def of(self, some: NDArray[np.bool_]) -> Tuples:
        """Return the same tuples, passed by the selected paths only."""
        lengths = np.diff(self.first)
        first = np.concatenate([[0], np.cumsum(lengths[some])])
        return replace(self, target=self.target[some], first=first, passed=self.passed[np.repeat(some, lengths)])

    def through(self, considered: int) -> tuple[Ints, Ints, Ints]:
        """Return the paths through the first ``considered`` tuples, and ``first`` and ``passed`` limited to them."""
        counts = self.passed < considered
        each = np.add.reduceat(np.append(counts, np.False_), self.first[:-1], dtype=np.int64)
        each[np.diff(self.first) == 0] = 0
        some = np.flatnonzero(each)
        return some, np.concatenate([[0], np.cumsum(each[some])]), self.passed[counts]


def follow_paths(cabled: Cabled, lft: NDArray[np.uint8]) -> Paths:
    """Follow every path along the forwarding tables.

    Parameters
    ----------
    cabled : Cabled
        The network.
    lft : array of uint8, (switches, LIDs)
        Output port, from 0, by DLID; numbers beyond the ports mean no entry.
    """
    hosts, ports = len(cabled.hosts), cabled.ports
    owner = np.repeat(np.arange(hosts), cabled.lids[:, 1])
    lids = np.concatenate([np.arange(first, first + count) for first, count in cabled.lids.tolist()])
    source, to = np.repeat(np.arange(hosts), len(lids)), np.tile(np.arange(len(lids)), hosts)
    others = source != owner[to]
    source, target, dlid = source[others], owner[to[others]], lids[to[others]]
    table = (
        lft
        if int(lids.max()) < lft.shape[1]
        else np.pad(lft, ((0, 0), (0, int(lids.max()) + 1 - lft.shape[1])), constant_values=255)
    )
    going, entered = np.arange(len(source)), cabled.hosts[source]
    steps: list[tuple[Ints, Ints]] = []
    arrived = np.zeros(len(source), bool)
    while len(going) and len(steps) <= cabled.switches:
        out = table[entered // ports, dlid[going]].astype(np.int64)
        known = out < ports
        going, entered, out = going[known], entered[known], out[known]
        steps.append((going, entered * ports + out))
        end = entered // ports * ports + out
        arrived[going[end == cabled.hosts[target[going]]]] = True
        on = cabled.far[end] != _NOWHERE
        going, entered = going[on], cabled.far[end[on]]
    length = np.zeros(len(source), np.int64)
    for going, _ in steps:
        length[going] += 1
    length[~arrived] = 0
    start = np.concatenate([[0], np.cumsum(length)])
    row = np.zeros(int(start[-1]), np.int64)
    for step, (going, rows) in enumerate(steps):
        kept = arrived[going]
        row[start[going[kept]] + step] = rows[kept]
    first = np.concatenate([start[:-1][arrived], start[-1:]])
    lost = int((~arrived).sum())
    return Paths(cabled, source[arrived], target[arrived], dlid[arrived], first, row, lost)


def find_tuples(paths: Paths) -> Tuples:
    """Return the 4-tuples of paths, weighted and ranked. The last switch of a path has no next output and no tuple."""
    ports = paths.cabled.ports
    inner = np.flatnonzero(~paths.last)
    numbers, passed = np.unique(paths.row[inner] * ports + paths.row[inner + 1] % ports, return_inverse=True)
    weight = np.bincount(passed, minlength=len(numbers))
    order = np.argsort(-weight, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    row = numbers[order] // ports
    end = row // ports
    place = np.stack([end // ports, end % ports, row % ports, numbers[order] % ports], axis=1)
    first = paths.first - np.arange(len(paths.first))  # a path has one tuple less than hops
    return Tuples(paths, place, weight[order], row, paths.target, first, rank[passed])
