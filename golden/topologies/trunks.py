"""Choice of trunk members and ring directions in a torus that balances the load of parallel links."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import draw_below, seeded_rng

_Job = tuple[int, int, int, list[tuple[int, int]]]
_POWER, _SWEEPS = 10, 20
"""Exponent of the loads in the minimized sum, which approximates the maximum; maximum number of revisions."""
_ROUNDS, _STEPS, _WORSE = 8, 4_000_000, 4
"""Number of random searches, exchanges tried per search, and initial tolerance for worse exchanges."""


def goes_up(ring_position: int, index: int, *, destinations: int, trunks: int) -> bool:
    """Return whether packets that may travel either way around a ring travel up.

    Parameters
    ----------
    ring_position : int
        Position of the destination's switch in the ring; up alternates with down along the ring.
    index : int
        Index of the destination among those at this position.
    destinations, trunks : int
        Number of destinations at a position, and number of trunk members.
    """
    return (ring_position + index // trunks + (index if destinations % trunks else 0)) % 2 == 0


def trunk_members(
    ring: int, *, destinations: int, trunks: int, changes: bool, exchanges: bool = False
) -> NDArray[np.int64]:
    """Return the trunk members on which packets travel around a ring.

    If ``destinations`` is a multiple of ``trunks``, a packet keeps its member around the ring.

    Parameters
    ----------
    ring : int
        Number of switches in the ring.
    destinations : int
        Number of destinations at each switch.
    trunks : int
        Number of cables between two neighbours.
    changes : bool
        Otherwise, a packet may change its member at every second switch, which balances the members better.
    exchanges : bool
        Exchange the members of pairs of destinations until no member carries more than necessary.

    Returns
    -------
    array of int64, (2, ring, ring, destinations)
        Member by direction (up, down), current switch, destination switch, and destination. If both switches are
        equal: the member on which the packet arrived, stored under direction up.
    """
    found = np.empty((2, ring, ring, destinations), np.int64)
    found[:] = np.arange(destinations) % trunks
    if destinations % trunks == 0:
        return found
    jobs = sorted(
        _path_sections(ring, destinations, trunks, changes=changes),
        key=lambda job: -sum(weight for _, weight in job[3]),
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
    if exchanges and max(_largest_excess(loads), _largest_excess(counts)) > 0:
        chosen = _balance_loads(jobs, chosen, loads.astype(np.int64), counts.astype(np.int64))
    for (way, target, index, passes), member in zip(jobs, chosen.tolist(), strict=True):
        for switch, _ in passes:
            found[way, switch, target, index] = member
    return found


def _largest_excess(loads: NDArray[np.float64] | NDArray[np.int64]) -> int:
    """Return the largest excess of a member's load over the smallest possible maximum of its link."""
    return int((loads.max(axis=-1) - np.ceil(loads.sum(axis=-1) / loads.shape[-1])).max())


def _balance_loads(
    jobs: list[_Job], chosen: NDArray[np.int64], loads: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the best-balanced of several random choices, each improved by moves and exchanges."""
    links = np.full((len(jobs), max(len(job[3]) for job in jobs), 2), -1)
    for job, (_, _, _, passes) in enumerate(jobs):
        links[job, : len(passes)] = passes
    ways, best, least = np.array([job[0] for job in jobs]), chosen, (_largest_excess(loads), _largest_excess(counts))
    for round_ in range(_ROUNDS):
        found, carried, passing = chosen.copy(), loads.copy(), counts.copy()
        _anneal(ways, links, found, carried, passing, seeded_rng(round_), _STEPS, _WORSE)
        if (worst := (_largest_excess(carried), _largest_excess(passing))) < least:
            best, least = found, worst
        if max(least) <= 0:
            break
    return best


@kernel
def _anneal(
    ways: NDArray[np.int64],
    links: NDArray[np.int64],
    chosen: NDArray[np.int64],
    loads: NDArray[np.int64],
    counts: NDArray[np.int64],
    rng: NDArray[np.uint64],
    steps: int,
    worse: int,
) -> None:
    """Move a job or exchange two while the sum of squares grows by at most a bound that decreases to 0."""
    trunks = loads.shape[2]
    for step in range(steps):
        one, other = draw_below(rng, len(chosen)), draw_below(rng, len(chosen))
        before, after = chosen[one], draw_below(rng, trunks)
        is_exchange = draw_below(rng, 4) != 0
        if is_exchange:
            after = chosen[other]
        if before == after:
            continue
        more = _add_job(ways, links, loads, counts, one, before, -1) + _add_job(
            ways, links, loads, counts, one, after, 1
        )
        if is_exchange:
            more += _add_job(ways, links, loads, counts, other, after, -1)
            more += _add_job(ways, links, loads, counts, other, before, 1)
        if more <= max(0, worse * (steps - step) // steps):
            chosen[one] = after
            if is_exchange:
                chosen[other] = before
            continue
        _add_job(ways, links, loads, counts, one, after, -1)
        _add_job(ways, links, loads, counts, one, before, 1)
        if is_exchange:
            _add_job(ways, links, loads, counts, other, before, -1)
            _add_job(ways, links, loads, counts, other, after, 1)


@inner
def _add_job(
    ways: NDArray[np.int64],
    links: NDArray[np.int64],
    loads: NDArray[np.int64],
    counts: NDArray[np.int64],
    job: int,
    member: int,
    sign: int,
) -> int:
    """Add a job to a member (or remove it with sign -1) and return the growth of the sum of squares."""
    grown = 0
    for place in range(links.shape[1]):
        switch, weight = links[job, place, 0], sign * links[job, place, 1]
        if switch < 0:
            break
        grown += weight * (2 * loads[ways[job], switch, member] + weight) + sign * 2 * counts[switch, member] + 1
        loads[ways[job], switch, member] += weight
        counts[switch, member] += sign
    return grown


def _path_sections(ring: int, destinations: int, trunks: int, *, changes: bool) -> Iterator[_Job]:
    """Yield the path sections that need a member.

    Each is a direction, target, destination, and (switch, upstream sources) of its links.
    """
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
