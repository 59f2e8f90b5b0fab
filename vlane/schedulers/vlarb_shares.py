"""Shares of an arbitration list when weights are rounded up to whole packets (decision VLA-2)."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.schedulers.vlarb import MAX_WEIGHT, VLArbEntry


class LaneShare(NamedTuple):
    """Share of a lane in its list while all lanes of the list have packets.

    Parameters
    ----------
    vl : int
        Number of the lane.
    meant, given : float
        Fraction of the lane in the weights, and in the transmitted blocks.
    """

    vl: int
    meant: float
    given: float


class NearestList(NamedTuple):
    """Weights of the same lanes with the shares closest to the intended ones, one entry per lane.

    Parameters
    ----------
    entries : tuple of VLArbEntry
        Entries with weights of whole packets.
    shares : tuple of LaneShare
        Resulting and intended shares.
    exact : bool
        Whether resulting and intended shares are equal.
    """

    entries: tuple[VLArbEntry, ...]
    shares: tuple[LaneShare, ...]
    exact: bool


def packets_of(weight: int, blocks: int) -> int:
    """Return the packets of ``blocks`` blocks that an entry sends per turn; the last packet may exceed the weight.

    Examples
    --------
    >>> packets_of(32, 33), packets_of(34, 33), packets_of(0, 33)
    (1, 2, 0)
    """
    return -(-weight // blocks)


def lane_shares(entries: Sequence[VLArbEntry], blocks: int) -> tuple[LaneShare, ...]:
    """Return the share of each lane of a list for packets of a size, in entry order.

    Parameters
    ----------
    entries : sequence of VLArbEntry
        Entries of a list; weight 0 is skipped.
    blocks : int
        Size of a packet in blocks.

    Examples
    --------
    >>> lane_shares([VLArbEntry(0, 32), VLArbEntry(1, 8)], 33)
    (LaneShare(vl=0, meant=0.8, given=0.5), LaneShare(vl=1, meant=0.2, given=0.5))
    """
    return _shares(entries, [packets_of(entry.weight, blocks) for entry in entries])


def nearest_list(entries: Sequence[VLArbEntry], blocks: int) -> NearestList:
    """Return the smallest weights of whole packets with the shares that a list intends, or the nearest shares.

    Parameters
    ----------
    entries : sequence of VLArbEntry
        Entries of a list, at least one with a nonzero weight; weight 0 is left out.
    blocks : int
        Size of a packet in blocks.

    Examples
    --------
    >>> nearest_list([VLArbEntry(0, 32), VLArbEntry(1, 8)], 33).entries
    (VLArbEntry(vl=0, weight=132), VLArbEntry(vl=1, weight=33))
    >>> nearest_list([VLArbEntry(0, 32), VLArbEntry(1, 1)], 33).exact
    False
    """
    entries = [entry for entry in entries if entry.weight]
    weights = np.array([entry.weight for entry in entries], np.int64)
    most = packets_of(MAX_WEIGHT, blocks)
    packets = weights // gcd(*weights.tolist())
    exact = bool(packets.max() <= most)
    if not exact:
        packets = _nearest_packets(np.array([entry.vl for entry in entries]), weights, most)
    new = tuple(
        VLArbEntry(entry.vl, min(count * blocks, MAX_WEIGHT))
        for entry, count in zip(entries, packets.tolist(), strict=True)
    )
    return NearestList(new, _shares(entries, packets.tolist()), exact)


def _shares(entries: Sequence[VLArbEntry], packets: Sequence[int]) -> tuple[LaneShare, ...]:
    weight_of: dict[int, int] = {}
    packets_by: dict[int, int] = {}
    for entry, count in zip(entries, packets, strict=True):
        if entry.weight:
            weight_of[entry.vl] = weight_of.get(entry.vl, 0) + entry.weight
            packets_by[entry.vl] = packets_by.get(entry.vl, 0) + count
    weights, sent = sum(weight_of.values()), sum(packets_by.values())
    return tuple(LaneShare(vl, weight / weights, packets_by[vl] / sent) for vl, weight in weight_of.items())


def _nearest_packets(vls: NDArray[np.int64], weights: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return packets per entry, 1 to ``most``, with shares nearest to the weights; among equals, the fewest.

    Candidates are the multiples of the weights for which some entry has a whole number of packets, with the others
    rounded.
    """
    scales = np.unique(np.arange(1, most + 1)[:, None] / np.unique(weights)[None, :])
    packets = np.clip(np.floor(weights[None, :] * scales[:, None] + 0.5), 1, most).astype(np.int64)
    lanes = (vls[:, None] == np.unique(vls)[None, :]).astype(np.int64)
    given, meant = packets @ lanes, weights @ lanes
    total = given.sum(axis=1)
    missed = np.abs(given / total[:, None] - meant[None, :] / meant.sum()).sum(axis=1)
    best: NDArray[np.int64] = packets[np.lexsort((total, np.round(missed, 9)))[0]]
    return best
