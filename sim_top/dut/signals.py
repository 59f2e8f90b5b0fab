"""Signals of an arbiter in the terms of the block, from rows of a foreign design's inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vlane.sim_top.dut.findings import Sample
from vlane.sim_top.dut.lanes import StrobeWires
from vlane.sim_top.dut.ports import Bits, bits_of_rows
from vlane.sim_top.dut.wiring import RESET, ZERO, Wiring
from vlane.tb.machinery.native.rows import Words

_RESET_CODE, _READY, _GATED, _LAST, _REQUEST, _ACKNOWLEDGE, _LAST_OF = 1, 2, 3, 4, 100, 200, 300
"""Sources of input bits, as in ``tb/machinery/native/requesters.cpp``."""
_LONGEST_STALL = 1000
"""Largest length of each of the four stalls before the part with resets, in cycles."""


class Signals:
    """Conversion of a design's rows to samples.

    Parameters
    ----------
    wiring : Wiring
        Connections of an arbiter, checked for the comparison of decisions.

    Attributes
    ----------
    gated : bool
        Whether ``ready`` is driven with a grant only.
    """

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        inputs = wiring.inputs.ports
        request = inputs["heads__request"]
        self.lanes = len(wiring.lanes.by_vl)
        self._reset = self._driven(inputs[RESET].first)
        self._requests = np.array([self._driven(request.first + lane) for lane in range(self.lanes)])
        self._ready = self._driven(inputs["ready"].first)
        self._by_lane = bool((wiring.acknowledges != ZERO).any())
        self.gated = "ready" in wiring.map.inputs and wiring.map.inputs["ready"].gate != "none"
        self.always_ready = "ready" not in wiring.map.inputs
        found = np.flatnonzero(wiring.expected_source == wiring.outputs.ports["grant"].first)
        self._valid = int(found[0]) if len(found) and wiring.cared[found[0]] else ZERO
        self._vl, self._onehot = self._granted()

    def _driven(self, our: int) -> int:
        """Return the design's input bit that a bit of the block drives, or ``ZERO``."""
        found = np.flatnonzero(self._wiring.source == our)
        return int(found[0]) if len(found) else ZERO

    def _granted(self) -> tuple[NDArray[np.int64], bool]:
        """Return the places of the output that names the lane, and whether it is one-hot."""
        wiring = self._wiring
        if wiring.lane is not None:
            return wiring.lane.places, wiring.lane.onehot
        port = wiring.outputs.ports["vl"]
        places = [
            np.flatnonzero((wiring.expected_source == port.first + bit) & (wiring.cared == 1))
            for bit in range(port.bits)
        ]
        return np.array([int(each[0]) for each in places if len(each)], np.int64), False

    def samples(self, rows: Words, shown: Words) -> Iterator[Sample]:
        """Yield a sample per row of the design's inputs and outputs."""
        wiring = self._wiring
        given = bits_of_rows(rows) ^ np.append(wiring.inverted, 0)[np.newaxis]
        got = bits_of_rows(shown) ^ np.append(wiring.expected_inverted, 0)[np.newaxis]
        grant = self._mask(got, self._vl)
        valid = got[:, self._valid] if self._valid != ZERO else (grant != 0).astype(np.uint8)
        if not self._onehot:
            grant = np.where(grant < self.lanes, np.uint64(1) << np.minimum(grant, np.uint64(63)), np.uint64(0))
        if self._by_lane:
            ready = (self._mask(given, wiring.acknowledges) & grant) != 0
        elif self.always_ready:
            ready = np.full(len(rows), bool(wiring.absent.get("ready", 1)))
        else:
            ready = given[:, self._ready] != 0
        reset = given[:, self._reset] if self._reset != ZERO else np.zeros(len(rows), np.uint8)
        columns = (
            reset,
            self._mask(given, self._requests),
            ready.astype(np.uint8),
            valid,
            grant,
            self._strobe(given, got, "decision"),
            self._strobe(given, got, "latency"),
            self._last(given, got),
        )
        return map(Sample._make, zip(*(column.tolist() for column in columns), strict=True))

    def _mask(self, bits: Bits, places: NDArray[np.int64]) -> NDArray[np.uint64]:
        mask = np.zeros(len(bits), np.uint64)
        for lane, place in enumerate(places.tolist()):
            mask |= bits[:, place].astype(np.uint64) << np.uint64(lane)
        return mask

    def _strobe(self, given: Bits, got: Bits, key: str) -> NDArray[np.uint64]:
        wires = self._wiring.strobes.get(key)
        if wires is None:
            return np.zeros(len(given), np.uint64)
        return self._level(given, got, wires)

    def _level(self, given: Bits, got: Bits, wires: StrobeWires) -> NDArray[np.uint64]:
        mask = self._mask(given if wires.is_input else got, wires.places)
        return mask ^ np.uint64((1 << len(wires.places)) - 1) if wires.low else mask

    def _last(self, given: Bits, got: Bits) -> NDArray[np.uint64]:
        everyone = np.uint64((1 << self.lanes) - 1)
        wires = self._wiring.strobes.get("release")
        if wires is None:
            return np.full(len(given), everyone)
        mask = self._level(given, got, wires)
        return mask if len(wires.places) > 1 or self.lanes == 1 else mask * everyone

    def plan(self, *, seed: int, cycles: int) -> NDArray[np.int64]:
        """Return the plan of closed-loop requesters: the fields of ``Requesters`` in ``requesters.cpp``."""
        wiring, told = self._wiring, self._wiring.map.requesters
        flags = (told.masked, told.gap, told.bursts, not told.stand, told.wild_ack)
        inverted = wiring.inverted.astype(np.int64)
        for wires in wiring.strobes.values():
            if wires.is_input:
                inverted[wires.places] = wires.low
        sources = inverted + 2 * self._codes()
        low = wiring.map.outputs["vl"].active == "low"
        reset = wiring.map.reset
        plan = [
            seed,
            self.lanes,
            sum(flag << place for place, flag in enumerate(flags)),
            cycles,
            max(reset.cycles, 1) if reset else 0,
            0 if self.always_ready else min(cycles // 100, _LONGEST_STALL),
            cycles - cycles // 5,
            self.always_ready,
            reset is not None,
            self._onehot,
            low,
            self._valid != ZERO and wiring.expected_inverted[self._valid],
            self._valid,
            len(self._vl),
            *self._vl.tolist(),
            len(sources),
            *sources.tolist(),
        ]
        return np.array(plan, np.int64)

    def _codes(self) -> NDArray[np.int64]:
        wiring = self._wiring
        codes = np.zeros(len(wiring.source), np.int64)
        for place, code in ((self._reset, _RESET_CODE), (self._ready, _GATED if self.gated else _READY)):
            if place != ZERO:
                codes[place] = code
        for lane in range(self.lanes):
            codes[self._requests[lane]] = _REQUEST + lane
            if wiring.acknowledges[lane] != ZERO:
                codes[wiring.acknowledges[lane]] = _ACKNOWLEDGE + lane
        release = wiring.strobes.get("release")
        if release is not None and release.is_input:
            one = len(release.places) == 1
            codes[release.places] = [_LAST] if one else [_LAST_OF + lane for lane in range(self.lanes)]
        return codes
