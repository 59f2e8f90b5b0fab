"""Sender-destination pairs of all traffic, drawn or replayed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.traffic.classes import PATH_SL
from vlane.golden.traffic.sources import (
    ASKS,
    AT,
    BY_CONNECTION,
    BY_TABLE,
    CERTAIN,
    CLASS_SL,
    CONNECTED,
    FROM_TRACE,
    HOT,
    HOTS,
    KIND,
    OF_REPLIES,
    PLUGGED,
    TO,
    TO_OTHERS,
    UNIFORM,
    WITH_SL,
    Sources,
)


class Senders(NamedTuple):
    """Senders on a service level.

    Parameters
    ----------
    to_all, to_others : array of bool, (NICs,)
        NICs that send to every NIC including themselves; NICs that send to every other NIC.
    tables : array of int64, (classes, NICs)
        Destination of each NIC in classes with a table; -1 for none.
    hot : array of bool, (hot groups, NICs)
        Hot destinations of each class with hot hosts.
    hot_senders : array of bool, (hot groups, NICs)
        Senders to the hot hosts of that class.
    pairs : array of int64, (pairs,)
        Pairs from weighted classes, traces and connections, as destination * NICs + source, sorted.
    first : array of int64, (NICs + 1,)
        Index in ``pairs`` of the first pair of each destination.
    """

    to_all: NDArray[np.bool_]
    to_others: NDArray[np.bool_]
    tables: NDArray[np.int64]
    hot: NDArray[np.bool_]
    hot_senders: NDArray[np.bool_]
    pairs: NDArray[np.int64]
    first: NDArray[np.int64]


def possible_sls(sources: Sources) -> list[int]:
    """Return the SLs that packets may have, in ascending order."""
    levels = {*sources.setting[:, CLASS_SL].tolist(), *sources.trace[:, WITH_SL].tolist(), *sources.path_sl.flat}
    return sorted(int(level) for level in levels if level != PATH_SL)


def senders_of(sources: Sources, sl: int, end_cycle: int, *, replies: bool = False) -> Senders:
    """Return all senders on an SL before cycle ``end_cycle``. ``PATH_SL`` selects traffic on path SLs.

    Parameters
    ----------
    replies : bool
        Include replies from every receiver to its senders, such as CNPs.
    """
    nics = sources.due.shape[0]
    found = _SendersSoFar(nics)
    for number in np.flatnonzero(sources.setting[:, CLASS_SL] == sl).tolist():
        _add_queue(found, sources, number, end_cycle)
    if replies:
        found.named += _reply_pairs(nics, found)
    pairs = np.unique(np.concatenate(found.named))
    return Senders(
        found.to_all,
        found.to_others,
        np.array(found.tables, np.int64).reshape(-1, nics),
        np.array([hosts for _, hosts in found.hot], np.bool_).reshape(-1, nics),
        np.array([sends for sends, _ in found.hot], np.bool_).reshape(-1, nics),
        pairs,
        np.searchsorted(pairs, np.arange(nics + 1) * nics),
    )


class _SendersSoFar:
    """Senders of the queues so far, with the meanings of ``Senders``, and ``hot`` of shape (senders, hot hosts)."""

    def __init__(self, nics: int) -> None:
        self.to_all, self.to_others = (np.zeros(nics, np.bool_) for _ in range(2))
        self.tables: list[NDArray[np.int64]] = []
        self.hot: list[tuple[NDArray[np.bool_], NDArray[np.bool_]]] = []
        self.named = [np.zeros(0, np.int64)]


def _add_queue(senders: _SendersSoFar, sources: Sources, queue: int, end_cycle: int) -> None:
    """Add the senders of a queue before cycle ``end_cycle``."""
    nics = len(senders.to_all)
    every_nic = np.arange(nics)
    setting, sends = sources.setting[queue], sources.is_sender[:, queue]
    kind, has_own = setting[KIND], setting[HOT] < CERTAIN
    if kind == FROM_TRACE:
        first, past = sources.place[queue].T
        rows, source = sources.trace[first[0] : past[-1]], np.repeat(every_nic, past - first)
        senders.named.append((rows[:, TO] * nics + source)[rows[:, AT] < end_cycle])
        return
    if kind == BY_CONNECTION:
        first, past = sources.place[queue].T
        numbers = sources.connections.heap["number"][first[0] : past[-1]]
        senders.named.append(sources.connections.each["target"][numbers] * nics + np.repeat(every_nic, past - first))
        return
    if kind == OF_REPLIES:
        asked = _SendersSoFar(nics)
        _add_queue(asked, sources, int(setting[ASKS]) - 1, end_cycle)
        senders.named += _reply_pairs(nics, asked)
        if (asked.to_all | asked.to_others).all():
            senders.to_all |= asked.to_all.any()
            senders.to_others[:] = True
        return
    if has_own and kind in {UNIFORM, PLUGGED}:
        senders.to_all |= sends
    elif has_own and kind in {TO_OTHERS, CONNECTED}:
        senders.to_others |= sends
    elif has_own and kind == BY_TABLE:
        senders.tables.append(np.where(sends, sources.target[queue], -1))
    elif has_own:
        ends = sources.pairs[queue]
        source = np.repeat(every_nic, np.diff(ends))
        senders.named.append((sources.weighted_destinations[ends[0] : ends[-1], 0] * nics + source)[sends[source]])
    if setting[HOT]:
        senders.hot.append((sends, np.isin(every_nic, sources.hot[queue, : setting[HOTS]])))


def _reply_pairs(nics: int, senders: _SendersSoFar) -> list[NDArray[np.int64]]:
    """Return the pairs of all replies, unless every NIC sends to all others.

    Pairs of a NIC with itself may be included.
    """
    every_nic = np.arange(nics)
    widely, pairs = np.flatnonzero(senders.to_all | senders.to_others), np.concatenate(senders.named)
    made = [pairs % nics * nics + pairs // nics]
    if len(widely) < nics:
        made.append((widely[:, np.newaxis] * nics + every_nic).ravel())
    for table in senders.tables:
        sends = np.flatnonzero(table >= 0)
        made.append(sends * nics + table[sends])
    for asks, hosts in senders.hot:
        made.append((np.flatnonzero(asks)[:, np.newaxis] * nics + np.flatnonzero(hosts)).ravel())
    return made


@inner
def mark_senders(senders: Senders, destination: int, sends: NDArray[np.bool_]) -> None:
    """Set ``sends`` to True for each NIC that sends to a destination."""
    nics = len(sends)
    for source in range(nics):
        sends[source] = senders.to_all[source] or (senders.to_others[source] and source != destination)
    for table in range(len(senders.tables)):
        for source in range(nics):
            sends[source] |= senders.tables[table, source] == destination
    for group in range(len(senders.hot)):
        if senders.hot[group, destination]:
            for source in range(nics):
                sends[source] |= senders.hot_senders[group, source]
    for place in range(senders.first[destination], senders.first[destination + 1]):
        sends[senders.pairs[place] - destination * nics] = True
