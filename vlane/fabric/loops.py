"""Credit loops: links that wait for each other, found by removing all other links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vlane.fabric.trace import Hop, Trace
from vlane.fabric.wiring import Ints


def credit_loops(trace: Trace) -> tuple[tuple[Hop, ...], ...]:
    """Return one loop of each set of links that wait for each other: the shortest through the busiest link.

    The busiest link carries most pairs. The loop begins at the link that waits for the busiest link.
    """
    held, wanted = only_loops(*trace.waits.pairs())
    if not len(held):
        return ()
    waits: dict[int, list[int]] = {}
    for hop, other in sorted(zip(held.tolist(), wanted.tolist(), strict=True)):
        waits.setdefault(hop, []).append(other)
    loops = [
        tuple(map(trace.hop, _shortest_loop(waits, knot, trace)))
        for knot in components(waits)
        if len(knot) > 1 or any(hop in waits.get(hop, ()) for hop in knot)
    ]
    return tuple(sorted(loops))


def only_loops(held: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Return the (held, wanted) channels on a loop or between two loops; none if there is no loop."""
    held, wanted = _ahead_of_a_loop(held, wanted)
    wanted, held = _ahead_of_a_loop(wanted, held)
    return held, wanted


def components(successors: Mapping[int, Sequence[int]]) -> Iterator[set[int]]:
    """Yield the strongly connected components of a directed graph (Kosaraju's algorithm, without recursion).

    Parameters
    ----------
    successors : mapping of int to sequence of int
        Successors of each node. A node without successors may be missing.
    """
    predecessors: dict[int, list[int]] = {}
    for node, following in successors.items():
        for each in following:
            predecessors.setdefault(each, []).append(node)
    placed: set[int] = set()
    for start in reversed(_finished(successors)):
        if start in placed:
            continue
        placed.add(start)
        found = [start]
        for node in found:
            for each in predecessors.get(node, ()):
                if each not in placed:
                    placed.add(each)
                    found.append(each)
        yield set(found)


def _finished(successors: Mapping[int, Sequence[int]]) -> list[int]:
    """Return every node of a graph, in the order in which a depth-first search leaves the nodes."""
    seen: set[int] = set()
    finished: list[int] = []
    for start in successors:
        if start in seen:
            continue
        seen.add(start)
        path = [(start, iter(successors[start]))]
        while path:
            node, following = path[-1]
            unseen = next((each for each in following if each not in seen), None)
            if unseen is None:
                finished.append(node)
                path.pop()
            else:
                seen.add(unseen)
                path.append((unseen, iter(successors.get(unseen, ()))))
    return finished


def _shortest_loop(waits: Mapping[int, Sequence[int]], knot: set[int], trace: Trace) -> list[int]:
    def pairs(hop: int) -> tuple[int, int]:
        return int(trace.traffic[hop]), hop

    busiest = max(knot, key=pairs)
    came_from, layer = {busiest: busiest}, [busiest]
    while not (waiting := [hop for hop in layer if busiest in waits[hop]]):
        reached = []
        for hop in layer:
            for wanted in waits[hop]:
                if wanted in knot and wanted not in came_from:
                    came_from[wanted] = hop
                    reached.append(wanted)
        layer = reached
    at = max(waiting, key=pairs)
    loop = [at]
    while at != busiest:
        at = came_from[at]
        loop.append(at)
    return [loop[0], *reversed(loop[1:])]


def _ahead_of_a_loop(tail: Ints, head: Ints) -> tuple[Ints, Ints]:
    """Remove hops without an incoming edge, and their edges, until none is left; return the remaining edges.

    Every edge is visited once, in layers. Most fabrics have no loop, so no edge remains.
    """
    hops, places = np.unique(np.concatenate([tail, head]), return_inverse=True)
    of, to = places[: len(tail)], places[len(tail) :]
    order = np.argsort(of, kind="stable")
    first = np.searchsorted(of[order], np.arange(len(hops) + 1))
    leading = np.bincount(to, minlength=len(hops))
    left = np.ones(len(tail), bool)
    layer = np.flatnonzero(leading == 0)
    while len(layer):
        mine = order[_ranges(first[layer], first[layer + 1])]
        left[mine] = False
        np.subtract.at(leading, to[mine], 1)
        reached = np.unique(to[mine])
        layer = reached[leading[reached] == 0]
    return tail[left], head[left]


def _ranges(start: NDArray[np.intp], stop: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the numbers of several ranges in one array."""
    lengths = stop - start
    return np.repeat(start - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
