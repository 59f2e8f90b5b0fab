"""Golden following a foreign design one cycle per call, for benches that drive the design themselves."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlane.sim_top.dut.lockstep import BEFORE, Cycle, Difference, Wrong
from vlane.sim_top.dut.ports import PortRow
from vlane.sim_top.dut.wiring import DECISION, RESET, ZERO, Wiring


class Golden(Protocol):
    """Interface of the object that ``vlane.oracle`` returns."""

    def step(self, **inputs: Any) -> Any:
        """Run one clock cycle and return the outputs, which have ``ports()``."""


@dataclass(frozen=True)
class _Run:
    """Consecutive bits of the design that map to consecutive bits of the block."""

    their: int
    our: int
    mask: int


class OneRow:
    """Wiring for one cycle at a time. A row is one whole number with the layout of ``Wiring``.

    Parameters
    ----------
    wiring : Wiring
        Wiring to apply.
    """

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._inputs = _runs(wiring.source)
        self._inverted = _mask(np.flatnonzero(wiring.inverted))
        self._outputs = _runs(wiring.expected_source)
        self._expected_inverted = _mask(np.flatnonzero(wiring.expected_inverted))
        self._cared = _mask(np.flatnonzero(wiring.cared))
        self._conditions: dict[tuple[int, int], int] = {}
        for places, conditions, wanted in wiring.conditions:
            for place, condition in zip(places.tolist(), conditions.tolist(), strict=True):
                self._conditions[condition, wanted] = self._conditions.get((condition, wanted), 0) | 1 << place
        self._without = _mask(place for _, places in wiring.too_narrow for place in places.tolist())

    def inputs(self, their: int) -> dict[str, int]:
        """Return the block's inputs by name for a row of the design's inputs."""
        their ^= self._inverted
        ours = 0
        for run in self._inputs:
            ours |= (their >> run.their & run.mask) << run.our
        return {**_ports(self._wiring.inputs, ours), **self._wiring.absent}

    def expected(self, outputs: Mapping[str, int], *, shown: bool = True) -> tuple[int, int]:
        """Return the row of the design's outputs that matches golden's outputs, and the mask of bits to compare.

        Parameters
        ----------
        outputs : mapping
            Golden's outputs by name.
        shown : bool
            Whether a grant may be visible; false if the design samples ``ready`` with the requests and it was low.

        Raises
        ------
        InputError
            If a value does not fit into a port of the design.
        """
        wiring = self._wiring
        ours = 0
        for name, port in wiring.outputs.ports.items():
            ours |= (0 if name in DECISION and not shown else outputs[name]) << port.first
        their = 0
        for run in self._outputs:
            their |= (ours >> run.our & run.mask) << run.their
        if wiring.lane is not None and shown and outputs["grant"]:
            lane = wiring.lanes.by_vl.get(outputs["vl"], 0)
            code = 1 << lane if wiring.lane.onehot else lane
            for index, place in enumerate(wiring.lane.places.tolist()):
                their |= (code >> index & 1) << place
        care = self._cared
        for (condition, wanted), places in self._conditions.items():
            if ours >> condition & 1 != wanted:
                care &= ~places
        if ours & self._without:
            wiring.refuse_narrow(ours)
        return their ^ self._expected_inverted, care


def _ports(row: PortRow, number: int) -> dict[str, int]:
    return {name: number >> port.first & (1 << port.bits) - 1 for name, port in row.ports.items()}


def _mask(places: Any) -> int:
    return sum(1 << int(place) for place in places)


def _runs(source: NDArray[np.int64]) -> list[_Run]:
    found: list[_Run] = []
    for their in np.flatnonzero(source != ZERO).tolist():
        our = int(source[their])
        last = found[-1] if found else None
        if last is not None:
            width = last.mask.bit_length()
            if (last.their + width, last.our + width) == (their, our):
                found[-1] = _Run(last.their, last.our, last.mask << 1 | 1)
                continue
        found.append(_Run(their, our, 1))
    return found


@dataclass(frozen=True)
class _Due:
    """Expected outputs of a later cycle."""

    cycle: int
    sampled: int
    expected: int
    care: int


class Follower:
    """Golden in step with a design that a bench drives.

    Parameters
    ----------
    wiring : Wiring
        Map, checked against both sides.
    golden : Golden
        Oracle of the block; nothing else may step it.
    prepare : callable, optional
        Function that programs golden's table, called at the start and after every reset, for a design with a built-in
        table.

    Attributes
    ----------
    cycles : int
        Cycles sampled.
    checked : int
        Cycles in which an output was compared.
    decisions : int
        Golden's grants (cycles for a block without grants).
    resets : int
        Cycles in reset.
    difference : Difference or None
        First difference.
    """

    def __init__(self, wiring: Wiring, golden: Golden, prepare: Callable[[], object] | None = None) -> None:
        self.wiring, self._golden, self._prepare = wiring, golden, prepare
        self._row, self._timing = OneRow(wiring), wiring.map.lockstep_timing
        self._due: deque[_Due] = deque()
        self._before: deque[Cycle] = deque(maxlen=BEFORE)
        self._between = 0
        self._offered: tuple[int, dict[str, int]] | None = None
        self._begun = wiring.map.reset is None
        self.cycles = self.checked = self.decisions = self.resets = 0
        self.difference: Difference | None = None
        if prepare is not None:
            prepare()

    @property
    def rules(self) -> dict[str, int]:
        """Number of occurrences of golden's rules, none for an own golden."""
        return dict(getattr(self._golden, "rules", {}))

    def cycle(
        self, inputs: Mapping[str, int], outputs: Mapping[str, int], unknown: Mapping[str, int] | None = None
    ) -> Difference | None:
        """Take the design's port values just before an active clock edge, and return this cycle's difference.

        If the design has a reset, nothing is compared before the first reset.

        Parameters
        ----------
        inputs, outputs : mapping
            Values of the design's ports by name.
        unknown : mapping, optional
            Masks of output bits that are neither 0 nor 1.
        """
        wiring = self.wiring
        now, self.cycles = self.cycles, self.cycles + 1
        their = sum(inputs[name] << port.first for name, port in wiring.dut_inputs.ports.items())
        got = sum(outputs[name] << port.first for name, port in wiring.dut_outputs.ports.items())
        lost = sum((unknown or {}).get(name, 0) << port.first for name, port in wiring.dut_outputs.ports.items())
        ours = self._row.inputs(their)
        resets = bool(ours[RESET])
        if not self._begun and not resets:
            return None
        first, self._begun = not self._begun, True
        self._advance(now, ours, resets=resets)
        found = None
        due = self._due.popleft() if self._due and self._due[0].cycle == now else None
        if due is not None and not first and not resets:
            found = self._compare(due, got, lost, ours, inputs, outputs)
        if resets:
            self._due.clear()
        origin = None if due is None else due.sampled
        self._before.append(Cycle(now, origin, ours, dict(inputs), dict(outputs)))
        return found

    def _advance(self, now: int, ours: dict[str, int], *, resets: bool) -> None:
        """Step golden by one cycle, and queue the expected outputs with the cycle in which they are due."""
        timing = self._timing
        if resets:
            self.resets += 1
            shown = self._golden.step(**ours)
            self._between, self._offered = 0, None
            if self._prepare is not None:
                self._prepare()
            if timing.latency == 0:
                self._owe(now, shown.ports(), ours)
            return
        if self._offered is not None and self._offered[0] == now:  # the design samples ready together with this grant
            heads = {name: value for name, value in self._offered[1].items() if name.startswith("heads__")}
            self._golden.step(**{**ours, **heads, "hold_data": self._offered[1]["hold_data"]})
            self.decisions += ours["ready"]
            self._offered, self._between = None, self._between - 1
            return
        if self._between > 0:
            self._golden.step(**{**ours, "ready": 0})
            self._between -= 1
            return
        with_grant = timing.ready == "grant"
        outputs = self._golden.step(**{**ours, "ready": 0} if with_grant else ours).ports()
        self._owe(now, outputs, ours)
        if not self.wiring.decides:
            self.decisions += 1
            return
        shown = outputs["grant"] and (timing.ready != "request" or ours["ready"])
        if not with_grant:
            self.decisions += outputs["grant"] & ours["ready"]
        if shown:
            self._between = timing.every - 1
            self._offered = (now + timing.latency, ours) if with_grant else None

    def _owe(self, now: int, outputs: Mapping[str, int], ours: Mapping[str, int]) -> None:
        shown = self._timing.ready != "request" or bool(ours["ready"])
        self._due.append(_Due(now + self._timing.latency, now, *self._row.expected(outputs, shown=shown)))

    def _compare(
        self,
        due: _Due,
        got: int,
        lost: int,
        ours: dict[str, int],
        inputs: Mapping[str, int],
        outputs: Mapping[str, int],
    ) -> Difference | None:
        self.checked += due.care != 0
        wrong = ((got ^ due.expected) | lost) & due.care
        if not wrong:
            return None
        wiring = self.wiring
        wanted = (due.expected & due.care) | (got & ~due.care)
        expected, found = (wiring.answer(_words(number, wiring.dut_outputs)) for number in (wanted, got))
        on_wires, shown = _ports(wiring.dut_outputs, wanted), _ports(wiring.dut_outputs, wrong)
        said = [
            Wrong(
                name,
                expected[name],
                found[name],
                {port: {"expected": on_wires[port], "got": outputs[port]} for port in wire.names if shown[port]},
            )
            for name, wire in wiring.map.outputs.items()
            if any(shown[port] for port in wire.names)
        ]
        now = Cycle(due.cycle, due.sampled, ours, dict(inputs), dict(outputs))
        difference = Difference(due.cycle, due.sampled, said, [*self._before, now])
        self.difference = self.difference or difference
        return difference


def _words(number: int, row: PortRow) -> NDArray[np.uint64]:
    return np.array([number >> 64 * word & (1 << 64) - 1 for word in range(row.words)], np.uint64)
