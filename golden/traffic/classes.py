"""Traffic classes: destinations, loads and packet sizes of all NICs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError
from vlane.golden.engine.random_bits import draw_below, seeded_rng
from vlane.golden.traffic.distributions import WHOLE, mean_of_function
from vlane.plugins import Plugin
from vlane.study.sizes import Distribution
from vlane.units import HEADER_BYTES

PATH_SL = -1
"""SL of a class whose packets use the SL of their path."""

NEVER = 1 << 60
"""A cycle beyond any run."""

_ROUNDING = 1e-9


class PluggedSource(NamedTuple):
    """Source of a plug-in.

    Parameters
    ----------
    plugin : Plugin
        Plug-in that draws gap, destination and size of each packet or message.
    values : tuple of int
        Values from the study.
    """

    plugin: Plugin
    values: tuple[int, ...] = ()


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
class Replies:
    """Replies to the messages of a class.

    Parameters
    ----------
    sl : int
        Service level, ``PATH_SL`` for that of the path.
    sizes : Distribution
        Payloads.
    delay : int
        Cycles from the delivery of a request to the generation of its reply, less 1.
    """

    sl: int
    sizes: Distribution
    delay: int = 0


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
    active : tuple of (int, int)
        Windows, in order: first cycle of generation, and the cycle in which the window ends. Packets not injected by
        then are discarded.
    sizes : Distribution or None
        Distribution of sizes that replaces ``least_bytes`` and ``most_bytes``.
    mtu : int
        0: sizes are those of packets. Otherwise they are the payloads of messages, which are sent in packets with up to
        ``mtu`` bytes of payload.
    on : Distribution or None
        Lengths of bursts in cycles. Packets are generated in bursts only, at a load that makes ``load`` the
        mean.
    off : Distribution or None
        Lengths of pauses in cycles.
    course : tuple of (int, float)
        Factors of the load, each from its cycle on; the first cycle is 0. Empty for a constant load.
    replies : Replies or None
        Replies to messages.
    window : int
        0: messages have the load of the class. Otherwise each NIC keeps this number of requests without a reply; the
        load has no effect.
    think : float
        Mean number of cycles from the delivery of a reply to the next request, less 1. With ``regular`` all are equal
        and rounded, otherwise geometric.
    queue_packets : int
        Capacity of each NIC's application queue in packets, 0 without limit. While it is full, no packet is generated.
    source : PluggedSource or None
        Source that replaces pattern, sizes and times. It receives ``load``.
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
    active: tuple[tuple[int, int], ...] = ((0, NEVER),)
    sizes: Distribution | None = None
    mtu: int = 0
    on: Distribution | None = None
    off: Distribution | None = None
    course: tuple[tuple[int, float], ...] = ()
    replies: Replies | None = None
    window: int = 0
    think: float = 0.0
    queue_packets: int = 0
    source: PluggedSource | None = None

    @property
    def burstiness(self) -> float:
        """Load during bursts relative to the mean load, 1 without bursts and pauses."""
        if self.on is None or self.off is None:
            return 1.0
        on, off = (mean_of_function(each, lambda most: most * (most + 1) // 2) for each in (self.on, self.off))
        return (on + off) / on

    @property
    def peak(self) -> float:
        """Largest load at any time relative to ``load``."""
        return max((factor for _, factor in self.course), default=self.burstiness)


def mean_flits(traffic_class: TrafficClass, flit_bytes: int) -> float:
    """Return the mean number of flits of a packet of a class, or of all packets of a message."""
    sizes = traffic_class.sizes or Distribution.of([(traffic_class.least_bytes, traffic_class.most_bytes, 1.0)])
    payload, header = (traffic_class.mtu, HEADER_BYTES) if traffic_class.mtu else (sizes.largest, 0)
    ends = np.cumsum(-(-(np.arange(payload + 1) + header) // flit_bytes)) - -(-header // flit_bytes)

    def total(most: int) -> int:
        """Return the flits of one message or packet of every size up to ``most``."""
        whole, rest = divmod(most, payload)
        last = int(ends[payload] - ends[payload - 1])
        return last * (payload * whole * (whole - 1) // 2 + whole * rest) + whole * int(ends[payload]) + int(ends[rest])

    return mean_of_function(sizes, total)


def senders_of(traffic_class: TrafficClass, nics: int) -> NDArray[np.bool_]:
    """Return a mask of the NICs that send packets of a class if its load is above 0."""
    sends = np.ones(nics, np.bool_)
    if traffic_class.senders is not None:
        sends[:] = False
        sends[list(traffic_class.senders)] = True
    if isinstance(traffic_class.pattern, PairWeights):
        sends &= np.bincount(traffic_class.pattern.source, minlength=nics) > 0
    elif not isinstance(traffic_class.pattern, str):
        sends &= np.array(traffic_class.pattern) >= 0
    return sends


def _loads_of_nics(traffic_class: TrafficClass, nics: int) -> NDArray[np.float64]:
    """Return the load of every NIC in flits per cycle. Reject weights that give a NIC more than one."""
    sends = senders_of(traffic_class, nics)
    if not isinstance(traffic_class.pattern, PairWeights) or not sends.any():
        return np.where(sends, traffic_class.load, 0.0)
    weight = np.bincount(traffic_class.pattern.source, traffic_class.pattern.weight, nics)
    loads = np.where(sends, traffic_class.load * weight / weight[sends].mean(), 0.0)
    if loads.max() > 1 + _ROUNDING:
        must = (
            f"at most {traffic_class.load / loads.max():.4g}, or host {loads.argmax()} sends more than 1 flit per cycle"
        )
        raise InputError("load", must, traffic_class.load)
    return loads


def distinct_paces(
    classes: Sequence[TrafficClass], nics: int, flit_bytes: int
) -> tuple[list[tuple[float, bool]], NDArray[np.int64]]:
    """Return the distinct (burst probability per cycle, is regular) pairs, and the index of each class and NIC.

    Raises
    ------
    InputError
        If weights, bursts or factors give a NIC more than one flit per cycle.
    """
    rows: dict[tuple[float, bool], int] = {}
    pace = np.zeros((nics, len(classes)), np.int64)
    for number, each in enumerate(classes):
        chances, of_nic = np.unique(_loads_of_nics(each, nics), return_inverse=True)
        peak = each.peak
        if peak > 1 and chances.max() * peak > 1 + _ROUNDING:
            most = each.load / chances.max() / peak
            must = f"at most {most:.4g}, or a host sends {chances.max() * peak:.4g} flits per cycle at times"
            raise InputError("load", must, each.load)
        if each.source is not None:
            chances, of_nic = np.array([0.0, 1.0]), senders_of(each, nics).astype(np.int64)
        else:
            chances = chances / mean_flits(each, flit_bytes) / each.burst * peak
        if each.window:
            chances, of_nic = np.array([0.0, 1 / (each.think + 1)]), senders_of(each, nics).astype(np.int64)
        is_regular = each.regular and not each.window
        own = [rows.setdefault((chance, is_regular), len(rows)) for chance in map(float, chances)]
        pace[:, number] = np.array(own)[of_nic]
    return list(rows), pace


def course_table(classes: Sequence[TrafficClass]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the (cycle, relative factor in 2**-30) rows of all classes, and the first and end row of each class."""
    rows = [(cycle, round(factor / each.peak * (1 << 30))) for each in classes for cycle, factor in each.course]
    ends = np.cumsum([0, *(len(each.course) for each in classes)])
    return np.array(rows, np.int64).reshape(-1, 2), np.stack([ends[:-1], ends[1:]], axis=1)


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


def random_derangement(nics: int, seed: int, number: int) -> NDArray[np.int64]:
    """Return a random derangement: another NIC for each NIC, each used once, all derangements equally likely.

    Raises
    ------
    InputError
        If there are fewer than two NICs.
    """
    if nics < 2:
        problem = f"needs at least 2 hosts; the network has {nics}"
        raise InputError("pattern connections", "another pattern", nics, problem=problem)
    bits, order = seeded_rng(seed, nics, number), np.arange(nics)
    while True:
        for last in range(nics - 1, 0, -1):
            other = draw_below(bits, last + 1)
            order[[last, other]] = order[[other, last]]
        if (order != np.arange(nics)).all():
            return order
