"""Traffic classes: destinations, loads and packet sizes of all NICs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError
from vlane.golden.engine.random_bits import below, seeded

PATH_SL = -1
"""SL of a class whose packets use the SL of their path."""

NEVER = 1 << 60
"""A cycle beyond any run."""

WHOLE = 1 << 62
"""Probability 1; every drawn number is below."""
_ROUNDING = 1e-9


class PairWeights(NamedTuple):
    """Pairs of NICs with their share of a class's traffic.

    Parameters
    ----------
    source, target : array of int64, (pairs,)
        NICs, sorted by source.
    weight : array of float64, (pairs,)
        Weights above 0, in any unit.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]


@dataclass(frozen=True)
class TrafficClass:
    """A class of traffic.

    Parameters
    ----------
    sl : int
        Service level; ``PATH_SL`` for that of the path.
    load : float
        Flits per cycle and sending NIC, 0 to 1; with a ``PairWeights`` their mean.
    least_bytes, most_bytes : int
        Range of packet sizes from LRH to VCRC, uniformly distributed.
    pattern : sequence of int, PairWeights or str
        Destination of each NIC (-1 for none) or weights of pairs. ``uniform`` draws the destination of each packet
        among all NICs, ``others`` among all except the source. ``connections`` draws one other NIC for each NIC at
        the start, a permutation.
    hot_share : float
        Fraction of the packets that go to hot hosts.
    hot_hosts : tuple of int
        Hot hosts.
    burst : int
        Number of packets generated at once.
    burst_to_one : bool
        All packets of a burst have the destination of the first.
    regular : bool
        Packets are generated at constant distance (CBR) instead of at random (Bernoulli).
    senders : tuple of int or None
        Sending NICs; None for all.
    active : (int, int)
        First cycle of generation, and the cycle in which the class ends. Packets not injected by then are discarded.
    """

    sl: int
    load: float
    least_bytes: int
    most_bytes: int
    pattern: str | tuple[int, ...] | PairWeights = "uniform"
    hot_share: float = 0.0
    hot_hosts: tuple[int, ...] = ()
    burst: int = 1
    burst_to_one: bool = False
    regular: bool = False
    senders: tuple[int, ...] | None = None
    active: tuple[int, int] = (0, NEVER)


def mean_flits(each: TrafficClass, flit_bytes: int) -> float:
    """Return the mean number of flits of a class's packets."""
    sizes = np.arange(each.least_bytes, each.most_bytes + 1)
    return float((-(-sizes // flit_bytes)).mean())


def senders_of(each: TrafficClass, nics: int) -> NDArray[np.bool_]:
    """Return a mask of the NICs that send packets of a class if its load is above 0."""
    sends = np.ones(nics, np.bool_)
    if each.senders is not None:
        sends[:] = False
        sends[list(each.senders)] = True
    if isinstance(each.pattern, PairWeights):
        sends &= np.bincount(each.pattern.source, minlength=nics) > 0
    elif not isinstance(each.pattern, str):
        sends &= np.array(each.pattern) >= 0
    return sends


def _loads_of_nics(each: TrafficClass, nics: int) -> NDArray[np.float64]:
    """Return the load of every NIC in flits per cycle.

    Reject weights that give a NIC more than one.
    """
    sends = senders_of(each, nics)
    if not isinstance(each.pattern, PairWeights) or not sends.any():
        return np.where(sends, each.load, 0.0)
    weight = np.bincount(each.pattern.source, each.pattern.weight, nics)
    loads = np.where(sends, each.load * weight / weight[sends].mean(), 0.0)
    if loads.max() > 1 + _ROUNDING:
        must = f"at most {each.load / loads.max():.4g}, or host {loads.argmax()} sends more than 1 flit per cycle"
        raise InputError("load", must, each.load)
    return loads


def paces_of(
    classes: Sequence[TrafficClass], nics: int, flit_bytes: int
) -> tuple[list[tuple[float, bool]], NDArray[np.int64]]:
    """Return the distinct (burst probability per cycle, regular) pairs of all classes and NICs, and the index of each.

    Raises
    ------
    InputError
        If weights give a NIC more than one flit per cycle.
    """
    rows: dict[tuple[float, bool], int] = {}
    pace = np.zeros((nics, len(classes)), np.int64)
    for number, each in enumerate(classes):
        chances, of_nic = np.unique(_loads_of_nics(each, nics), return_inverse=True)
        chances = chances / mean_flits(each, flit_bytes) / each.burst
        own = [rows.setdefault((chance, each.regular), len(rows)) for chance in map(float, chances)]
        pace[:, number] = np.array(own)[of_nic]
    return list(rows), pace


def pair_table(classes: Sequence[TrafficClass], nics: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first pair of each class and NIC, and the pairs as (destination, cumulative probability in 2**-62)."""
    first, weighed = np.zeros((len(classes), nics + 1), np.int64), [np.zeros((0, 2), np.int64)]
    for number, each in enumerate(classes):
        if not isinstance(each.pattern, PairWeights):
            continue
        source, target, weight = each.pattern
        ends = np.searchsorted(source, np.arange(nics + 1))
        first[number] = ends + sum(map(len, weighed))
        until = np.zeros(len(source))
        for begin, end in pairwise(ends):
            if begin < end:
                reached = np.cumsum(weight[begin:end])
                until[begin:end] = reached / reached[-1]
        weighed.append(np.stack([target, (until * WHOLE).astype(np.int64)], axis=1))
    return first, np.concatenate(weighed)


def drawn_connections(nics: int, seed: int, number: int) -> NDArray[np.int64]:
    """Return a random derangement: another NIC for each NIC, each used once, all derangements equally likely.

    Raises
    ------
    InputError
        If there are fewer than two NICs.
    """
    if nics < 2:
        problem = f"needs at least 2 hosts; the network has {nics}"
        raise InputError("pattern connections", "another pattern", nics, problem=problem)
    bits, order = seeded(seed, nics, number), np.arange(nics)
    while True:
        for last in range(nics - 1, 0, -1):
            other = below(bits, last + 1)
            order[[last, other]] = order[[other, last]]
        if (order != np.arange(nics)).all():
            return order
