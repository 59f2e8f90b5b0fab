"""Dependencies between lanes of links: the edges of the dependency graph, one bit each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.fabric.wiring import Ints, Wiring

LANES = 16
"""Number of lanes of a port. A hop is a lane of a port, numbered port * ``LANES`` + lane."""


class Waits:
    """Dependencies between hops: a packet in the buffer of the first hop waits for the second hop.

    The second hop leaves the switch at the far end of the first hop. A pair of hops is stored as a bit, selected by a
    pair of ports (port of the first hop, port number of the second hop within its switch) and a pair of lanes.

    Parameters
    ----------
    wiring : Wiring
        Numbering of the ports.
    """

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        far = np.maximum(wiring.far, 0)
        leads_on = (wiring.far >= 0) & (wiring.switch[wiring.node[far]] >= 0)
        self._wide: Ints = np.where(leads_on, wiring.ports[wiring.node[far]] + 1, 0)
        self._first: Ints = np.cumsum(self._wide) - self._wide
        self._places = int(self._wide.sum())
        self._lanes: list[int] = []
        self._bits: list[NDArray[np.uint8]] = []

    def add(self, held: Ints, held_vl: Ints, wanted: Ints, wanted_vl: Ints) -> None:
        """Record dependencies: packets that hold ``held`` wait for ``wanted``, both given as ports and lanes."""
        places = self._first[held] + wanted - self._wiring.first[self._wiring.node[wanted]]
        lanes = held_vl * LANES + wanted_vl
        occurring = np.flatnonzero(np.bincount(lanes, minlength=LANES**2)).tolist()
        for each in occurring:
            if each not in self._lanes:
                if len(self._lanes) % 8 == 0:
                    self._bits.append(np.zeros(self._places, np.uint8))
                self._lanes.append(each)
            byte, bit = divmod(self._lanes.index(each), 8)
            mine = places if len(occurring) == 1 else places[lanes == each]
            self._bits[byte][mine] |= np.uint8(1 << bit)

    def pairs(self) -> tuple[Ints, Ints]:
        """Return all dependencies as two arrays: first hops, and the second hops that they wait for."""
        held, wanted = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        port_of = np.repeat(np.arange(len(self._wide), dtype=np.int32), self._wide)
        for number, lanes in enumerate(self._lanes):
            places = np.flatnonzero(self._bits[number // 8] & (1 << number % 8))
            port = port_of[places].astype(np.int64)
            there = self._wiring.first[self._wiring.node[self._wiring.far[port]]]
            held.append(port * LANES + lanes // LANES)
            wanted.append((there + places - self._first[port]) * LANES + lanes % LANES)
        return np.concatenate(held), np.concatenate(wanted)
