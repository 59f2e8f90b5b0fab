"""Members of a torus' trunks, and ways around its rings, chosen so that links of a kind carry the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import below, seeded

_Job = tuple[int, int, int, list[tuple[int, int]]]
_POWER, _SWEEPS = 10, 20
"""Power of the loads whose sum is made small, which makes the largest small; most times that the choice is revised."""
_ROUNDS, _STEPS, _WORSE = 8, 4_000_000, 4
"""Searches for members that are even to one, exchanges that each tries, and how much worse the first ones may be."""


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


def trunk_members(
    ring: int, *, destinations: int, trunks: int, changes: bool, exchanges: bool = False
) -> NDArray[np.int64]:
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
    exchanges : bool
        Whether pairs of destinations are to exchange their members until the most loaded one has no more than it must.

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
    if exchanges and max(_worst(loads), _worst(counts)) > 0:
        chosen = _evened(jobs, chosen, loads.astype(np.int64), counts.astype(np.int64))
    for (way, target, index, passes), member in zip(jobs, chosen.tolist(), strict=True):
        for switch, _ in passes:
            found[way, switch, target, index] = member
    return found


def _worst(loads: NDArray[np.float64] | NDArray[np.int64]) -> int:
    """Return by how much the most loaded member of any link is above what the most loaded one must have."""
    return int((loads.max(axis=-1) - np.ceil(loads.sum(axis=-1) / loads.shape[-1])).max())


def _evened(
    jobs: list[_Job], chosen: NDArray[np.int64], loads: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the most even of several random choices, of which each is made better by moves and exchanges."""
    links = np.full((len(jobs), max(len(job[3]) for job in jobs), 2), -1)
    for job, (_, _, _, passes) in enumerate(jobs):
        links[job, : len(passes)] = passes
    ways, best, least = np.array([job[0] for job in jobs]), chosen, (_worst(loads), _worst(counts))
    for round_ in range(_ROUNDS):
        found, carried, passing = chosen.copy(), loads.copy(), counts.copy()
        _exchange(ways, links, found, carried, passing, seeded(round_), _STEPS, _WORSE)
        if (worst := (_worst(carried), _worst(passing))) < least:
            best, least = found, worst
        if max(least) <= 0:
            break
    return best


@kernel
def _exchange(
    ways: NDArray[np.int64],
    links: NDArray[np.int64],
    chosen: NDArray[np.int64],
    loads: NDArray[np.int64],
    counts: NDArray[np.int64],
    bits: NDArray[np.uint64],
    steps: int,
    worse: int,
) -> None:
    """Move jobs, or exchange two, while the sum of squares grows by no more than a bound that falls to 0."""
    trunks = loads.shape[2]
    for step in range(steps):
        one, other = below(bits, len(chosen)), below(bits, len(chosen))
        before, after = chosen[one], below(bits, trunks)
        is_exchange = below(bits, 4) != 0
        if is_exchange:
            after = chosen[other]
        if before == after:
            continue
        more = _put(ways, links, loads, counts, one, before, -1) + _put(ways, links, loads, counts, one, after, 1)
        if is_exchange:
            more += _put(ways, links, loads, counts, other, after, -1)
            more += _put(ways, links, loads, counts, other, before, 1)
        if more <= max(0, worse * (steps - step) // steps):
            chosen[one] = after
            if is_exchange:
                chosen[other] = before
            continue
        _put(ways, links, loads, counts, one, after, -1)
        _put(ways, links, loads, counts, one, before, 1)
        if is_exchange:
            _put(ways, links, loads, counts, other, before, -1)
            _put(ways, links, loads, counts, other, after, 1)


@inner
def _put(
    ways: NDArray[np.int64],
    links: NDArray[np.int64],
    loads: NDArray[np.int64],
    counts: NDArray[np.int64],
    job: int,
    member: int,
    sign: int,
) -> int:
    """Put a job on a member, or take it off with sign -1; return by how much the sum of squares grows."""
    grown = 0
    for place in range(links.shape[1]):
        switch, weight = links[job, place, 0], sign * links[job, place, 1]
        if switch < 0:
            break
        grown += weight * (2 * loads[ways[job], switch, member] + weight) + sign * 2 * counts[switch, member] + 1
        loads[ways[job], switch, member] += weight
        counts[switch, member] += sign
    return grown


def _jobs(ring: int, destinations: int, trunks: int, *, changes: bool) -> Iterator[_Job]:
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
