"""Members of a torus' trunks, and ways around its rings, chosen so that links of a kind carry the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["goes_up", "trunk_members"]

_POWER, _SWEEPS = 10, 20
"""Power of the loads whose sum is made small, which makes the largest small; most times that the choice is revised."""


def goes_up(place: int, index: int, *, destinations: int, trunks: int) -> bool:
    """Return whether packets that may go either way around a ring go up.

    Parameters
    ----------
    place : int
        Of the destination's switch: half of those that follow one another go up.
    index : int
        Of the destination among those that share this place.
    destinations, trunks : int
        How many share it, and members of a trunk.
    """
    return (place + index // trunks + (index if destinations % trunks else 0)) % 2 == 0


def trunk_members(ring: int, *, destinations: int, trunks: int, changes: bool) -> NDArray[np.int64]:
    """Return the members of trunks on which packets travel around a ring.

    If destinations are a multiple of members, a packet keeps its own all around the ring.

    Parameters
    ----------
    ring : int
        Switches of the ring.
    destinations : int
        Of each of its switches.
    trunks : int
        Cables between two neighbours.
    changes : bool
        Whether a packet may otherwise change its member at every second switch, which loads members more evenly.

    Returns
    -------
    array of int64, (2, ring, ring, destinations)
        By way (up, down), switch where the packet is, switch of the destination, and destination. Where both are the
        same switch: the member on which it came, with way up.
    """
    found = np.empty((2, ring, ring, destinations), np.int64)
    found[:] = np.arange(destinations) % trunks
    if destinations % trunks == 0:
        return found
    jobs = sorted(
        _jobs(ring, destinations, trunks, changes=changes), key=lambda job: -sum(weight for _, weight in job[3])
    )
    loads, counts = np.zeros((2, ring, trunks)), np.zeros((ring, trunks))
    chosen = np.full(len(jobs), -1)
    for _ in range(_SWEEPS):
        before = chosen.copy()
        for number, (way, _target, _index, passes) in enumerate(jobs):
            costs = np.zeros(trunks)
            for switch, weight in passes:
                if chosen[number] >= 0:
                    loads[way, switch, chosen[number]] -= weight
                    counts[switch, chosen[number]] -= 1
                for carried, more in ((loads[way, switch], weight), (counts[switch], 1)):
                    costs += (carried + more) ** _POWER - carried**_POWER
            chosen[number] = int(costs.argmin())
            for switch, weight in passes:
                loads[way, switch, chosen[number]] += weight
                counts[switch, chosen[number]] += 1
        if (chosen == before).all():
            break
    for (way, target, index, passes), member in zip(jobs, chosen.tolist(), strict=True):
        for switch, _ in passes:
            found[way, switch, target, index] = member
    return found


def _jobs(
    ring: int, destinations: int, trunks: int, *, changes: bool
) -> Iterator[tuple[int, int, int, list[tuple[int, int]]]]:
    """Yield what needs a member: way, target, destination, and (switch, sources behind it) of the links it takes."""
    for target in range(ring):
        for index in range(destinations):
            yield 0, target, index, [(target, 0)]
            up = goes_up(target, index, destinations=destinations, trunks=trunks)
            for way in (0, 1):
                reach = ring // 2 if ring % 2 or up == (way == 0) else ring // 2 - 1
                stretch: list[tuple[int, int]] = []
                for distance in range(reach, 0, -1):
                    switch = (target + (distance if way else -distance)) % ring
                    if changes and stretch and switch % 2:
                        yield way, target, index, stretch
                        stretch = []
                    stretch.append((switch, reach - distance + 1))
                if stretch:
                    yield way, target, index, stretch
