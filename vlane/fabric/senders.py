"""Packets sent by adapters: pairs by destination, service level, first switch and input.

Packets of adapters at switch inputs with equal SL2VL rows are followed together. Tracing starts at the first switch,
because no link waits for an adapter's output and no credit loop includes an adapter's output.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlane.fabric.lost import Why
from vlane.fabric.model import Fabric, Kind
from vlane.fabric.path_table import NO_SL
from vlane.fabric.wiring import NOWHERE, Ints, Wiring
from vlane.tables.sl2vl import SL_COUNT, VL_DROP


@dataclass(frozen=True, slots=True)
class Sent:
    """Packets to some destinations.

    Parameters
    ----------
    first : int
        Place of the first destination in the list of destinations.
    many : int
        Number of destinations.
    all_enter : bool
        Whether the packets of every pair enter a switch.
    kind : array of int64
        Input and SL of the different packets, in the numbering of ``Senders``.
    to : array of int64
        Destination of each packet.
    entered : array of int64
        Input of each packet.
    sl : array of int64
        SL of each packet.
    pairs : array of int64
        Number of pairs whose packets these are.
    unsure : array of int64
        Number of those pairs that rest on an assumption.
    """

    first: int
    many: int
    all_enter: bool
    kind: Ints
    to: Ints
    entered: Ints
    sl: Ints
    pairs: Ints
    unsure: Ints


class Senders:
    """All sending adapter ports and all destinations.

    Parameters
    ----------
    fabric : Fabric
        Captured fabric.
    wiring : Wiring
        Numbering of the fabric's ports.

    Attributes
    ----------
    slids, dlids : array of int64
        LIDs of senders and of destinations. With LMC, a port is several destinations and one source.
    ports, targets : array of int64
        Port numbers of senders and of destinations.
    outputs : array of uint8, (switches, destinations)
        Output port of every switch to every destination.
    pairs : array of int64, (senders, SL_COUNT)
        Number of pairs sent.
    assumed : int
        Number of pairs without a path record; SL 0 is assumed.
    all_unsure : bool
        Whether every pair rests on an assumption, because the capture has no path records or no SL2VL rows.
    unsure : int
        Number of pairs with an assumed SL or first lane.
    unsure_of : array of int64, (senders, SL_COUNT)
        Number of pairs with an assumed SL or first lane, by sender and SL.
    """

    def __init__(self, fabric: Fabric, wiring: Wiring) -> None:
        self._wiring = wiring
        owners = sorted(
            (lid, port) for lid, port in fabric.port_of_lid().items() if fabric.nodes[port.guid].kind is not Kind.SWITCH
        )
        sources = [(lid, port) for lid, port in owners if lid == fabric.nodes[port.guid].lids[port.number]]
        self.slids: Ints = np.array([lid for lid, _ in sources], np.int64)
        self.dlids: Ints = np.array([lid for lid, _ in owners], np.int64)
        self.ports: Ints = np.array([wiring.number(port) for _, port in sources], np.int64)
        self.targets: Ints = np.array([wiring.number(port) for _, port in owners], np.int64)
        self.outputs = wiring.outputs(self.dlids)
        self.pairs: Ints = np.zeros((len(self.slids), SL_COUNT), np.int64)
        self.assumed = self.unsure = 0
        self.all_unsure = not fabric.path_sls or not wiring.captured_rows
        self.unsure_of: Ints = np.zeros((len(self.slids), SL_COUNT), np.int64)
        place = {port: number for number, (_, port) in enumerate(sources)}
        self._own: Ints = np.array([place.get(port, NOWHERE) for _, port in owners], np.int64)
        self._levels = np.full((len(self.slids) if fabric.path_sls else 0, len(self.dlids)), NO_SL, np.uint8)
        for row, slid in enumerate(self.slids[: len(self._levels)].tolist()):
            self._levels[row] = fabric.path_sls.of(slid, self.dlids)
        self._leave(fabric)

    def _leave(self, fabric: Fabric) -> None:
        """Find the first hop of each adapter and SL: lanes, reasons for loss, and groups of equivalent adapters."""
        wiring, senders = self._wiring, len(self.ports)
        self.rows = wiring.rows(wiring.first[wiring.node[self.ports]], self.ports)
        self._row_is_assumed = self.rows >= wiring.captured_rows
        levels = np.tile(np.arange(SL_COUNT), senders)
        ports = np.repeat(self.ports, SL_COUNT)
        self.vls = wiring.vls(np.repeat(self.rows, SL_COUNT), levels)
        there = wiring.far[ports]
        enters = (there != NOWHERE) & (wiring.switch[wiring.node[there]] != NOWHERE)
        self.why: Ints = np.where(
            enters, 0, np.where(there == NOWHERE, Why.NO_CABLE.at(ports), Why.DELIVERED.at(there))
        )
        dropped = self.vls == VL_DROP
        self.why[dropped] = Why.DROPPED.at(ports, levels)[dropped]
        groups: dict[tuple[int, tuple[int, bytes]], int] = {}
        used: dict[int, Ints] = {}
        group = np.zeros(senders, np.int64)
        self._entered: list[int] = []
        for number in np.flatnonzero(enters[::SL_COUNT]).tolist():
            port = int(wiring.far[self.ports[number]])
            key = int(wiring.node[port]), self._rows_of_input(fabric, port, used)
            group[number] = groups.setdefault(key, len(groups))
            if group[number] == len(self._entered):
                self._entered.append(port)
        self._kinds = len(groups) * SL_COUNT
        self._kind: Ints = np.where(self.why == 0, np.repeat(group, SL_COUNT) * SL_COUNT + levels, self._kinds)

    def _rows_of_input(self, fabric: Fabric, port: int, used: dict[int, Ints]) -> tuple[int, bytes]:
        """Return a key, equal for equivalent inputs of a switch, and record missing rows."""
        wiring = self._wiring
        number = int(wiring.node[port])
        table = fabric.sl2vl.table(wiring.nodes[number].guid)
        if table is None:
            return (port if wiring.captured_rows else NOWHERE), b""
        if number not in used:
            outputs = np.unique(self.outputs[wiring.switch[number]]).astype(np.int64)
            used[number] = outputs[outputs < len(table)]
        row = table[port - int(wiring.first[number]), used[number]]
        return (port, b"") if (row < 0).any() else (NOWHERE, row.tobytes())

    @property
    def together(self) -> int:
        """Number of packets per destination when all senders are followed together."""
        return max(1, len(self.ports) if len(self._levels) else len(self._entered))

    def send(self, first: int, many: int) -> Sent:
        """Return all packets to some destinations."""
        senders, mine, own = len(self.ports), *self._own_pairs(first, many)
        self.assumed += many * senders - len(mine)
        if len(self._levels):
            key = self._keys(first, many)
            known = self._levels[:, first : first + many].T != NO_SL
            self.assumed -= int(known.sum()) - int(known[mine, own].sum())
            counts = np.bincount(key.reshape(-1), minlength=senders * SL_COUNT)
            places = self._kind[key] + np.arange(many)[:, None] * (self._kinds + 1)
            pairs = np.bincount(places.reshape(-1), minlength=many * (self._kinds + 1)).reshape(many, -1)
            own_keys = key[mine, own]
        else:
            key, known = np.zeros((0, 0), np.int64), np.zeros((0, 0), np.bool_)
            counts = np.zeros(senders * SL_COUNT, np.int64)
            counts[::SL_COUNT] = many
            pairs = np.tile(np.bincount(self._kind[::SL_COUNT], minlength=self._kinds + 1), (many, 1))
            own_keys = own * SL_COUNT
        np.subtract.at(counts, own_keys, 1)
        np.subtract.at(pairs, (mine, self._kind[own_keys]), 1)
        self.pairs += counts.reshape(senders, SL_COUNT)
        unsure = pairs if self.all_unsure else self._unsure(many, key, known, (mine, own))
        to, kind = np.nonzero(pairs[:, : self._kinds])
        entered = np.array(self._entered, np.int64)[kind // SL_COUNT]
        all_enter = not pairs[:, self._kinds].any()
        return Sent(
            first, many, all_enter, kind, first + to, entered, kind % SL_COUNT, pairs[to, kind], unsure[to, kind]
        )

    def _unsure(self, many: int, key: Ints, known: NDArray[np.bool_], own: tuple[Ints, Ints]) -> Ints:
        """Count the pairs with an assumed SL or first lane, and return the counts by destination and kind."""
        is_unsure = ~known | self._row_is_assumed[None, :]
        is_unsure[own] = False
        to, sender = np.nonzero(is_unsure)
        keys = key[to, sender]
        self.unsure += len(keys)
        counts = np.bincount(keys, minlength=len(self.ports) * SL_COUNT)
        self.unsure_of += counts.reshape(len(self.ports), SL_COUNT)
        width = self._kinds + 1
        made: Ints = np.bincount(to * width + self._kind[keys], minlength=many * width).reshape(many, width)
        return made

    def stopped(self, sent: Sent, later: Ints | None) -> tuple[Ints, Ints, Ints] | None:
        """Return SLID, DLID and reason of unreachable pairs, or ``None`` if all pairs arrive.

        ``later`` contains a reason, or 0, for each packet beyond its first switch.
        """
        if later is None and sent.all_enter:
            return None
        key = self._keys(sent.first, sent.many)
        why = self.why[key]
        targets = self.targets[sent.first : sent.first + sent.many]
        far = self._wiring.far[self.ports]
        why[(far[None, :] == targets[:, None]) & (why >> 48 == Why.DELIVERED)] = 0
        if later is not None:
            width = self._kinds + 1
            reasons: Ints = np.zeros(sent.many * width, np.int64)
            reasons[(sent.to - sent.first) * width + sent.kind] = later
            why += reasons[self._kind[key] + np.arange(sent.many)[:, None] * width]
        mine, own = self._own_pairs(sent.first, sent.many)
        why[mine, own] = 0
        to, of = np.nonzero(why)
        return self.slids[of], self.dlids[sent.first + to], why[to, of]

    def _own_pairs(self, first: int, many: int) -> tuple[Ints, Ints]:
        """Return the destinations of this range with a sender at the same port, and these senders."""
        own = self._own[first : first + many]
        mine = np.flatnonzero(own != NOWHERE)
        return mine, own[mine]

    def _keys(self, first: int, many: int) -> Ints:
        """Return sender x ``SL_COUNT`` + SL of every pair to a range of destinations."""
        key: Ints = np.tile(np.arange(len(self.ports)) * SL_COUNT, (many, 1))
        if len(self._levels):
            levels = self._levels[:, first : first + many].T
            key += np.where(levels != NO_SL, levels, 0)
        return key
