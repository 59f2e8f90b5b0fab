"""Traffic classes: what they say of every NIC, before anything is drawn."""

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
"""SL of a class whose packets take the SL of their path."""

NEVER = 1 << 60
"""A cycle that no run comes to."""

WHOLE = 1 << 62
"""Of chances: what is drawn is always below."""
_ROUNDING = 1e-9


class PairWeights(NamedTuple):
    """Pairs of NICs and how much of a class's traffic is theirs.

    Parameters
    ----------
    source, target : array of int64, (pairs,)
        NICs, in the order of the sources.
    weight : array of float64, (pairs,)
        Parts, above 0, in any unit.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]


@dataclass(frozen=True)
class TrafficClass:
    """Traffic of one kind, at every NIC or at some.

    Parameters
    ----------
    sl : int
        Service level; ``PATH_SL`` for that of the path.
    load : float
        Flits per cycle and NIC that sends, 0 to 1; the mean of those of a ``PairWeights``.
    least_bytes, most_bytes : int
        Packet sizes, LRH to VCRC, drawn evenly.
    pattern : sequence of int, PairWeights or str
        Destination of each NIC, -1 for none, or how likely each pair is; ``uniform`` draws among all, ``others`` among
        all but the source, for each packet, and ``connections`` one other NIC for each at the start, each once.
    hot_share : float
        Share of the packets that go to one of the hot hosts.
    hot_hosts : tuple of int
        Those.
    burst : int
        Packets generated at once.
    burst_to_one : bool
        The first packet of a burst draws the destination of all.
    regular : bool
        Packets come at equal distances (CBR) instead of at random (Bernoulli).
    senders : tuple of int or None
        NICs that send; None is all.
    active : (int, int)
        Cycle from which on packets are generated, and the cycle in which that ends: what no NIC took until then is not
        sent any more.
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
    """Return the mean flits of a class's packets."""
    sizes = np.arange(each.least_bytes, each.most_bytes + 1)
    return float((-(-sizes // flit_bytes)).mean())


def senders_of(each: TrafficClass, nics: int) -> NDArray[np.bool_]:
    """Tell of every NIC whether it sends packets of a class when its load is above 0."""
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
    """Return the flits per cycle of every NIC; refuse weights that give one more than a flit per cycle."""
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
    """Return the chances of a burst in a cycle that differ, each with whether it is regular, and the row of each.

    Raises
    ------
    InputError
        If weights give a NIC more than a flit per cycle.
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
    """Return where the pairs of each class and NIC begin, and (destination, chance out of 2**62 of it or before)."""
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
    """Return one other NIC for each, each once: a derangement, every one as likely.

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
