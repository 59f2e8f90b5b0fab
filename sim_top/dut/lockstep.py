"""A foreign design and golden side by side, up to the first difference."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vlane.documents.files import write_whole
from vlane.dut_map import DutMap
from vlane.sim_top.blocks import Block
from vlane.sim_top.dut.design import Design, DesignError, ForeignModel, stdout_elsewhere
from vlane.sim_top.dut.schedule import ROWS, Batch, batches
from vlane.sim_top.dut.stimulus import Traffic, foreign_traffic
from vlane.sim_top.dut.wiring import Wiring
from vlane.tb.machinery.native.coverage import Coverage, coverage_of
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Stimulus

BEFORE = 5
"""Cycles that are shown before a difference."""
_WAVE_BEFORE, _WAVE_AFTER = 200, 50
"""Cycles of a wave around a difference."""
_WAVE_FIRST = 2000
"""Cycles of a wave without one."""


@dataclass(frozen=True)
class Wrong:
    """An output that differs.

    Parameters
    ----------
    output : str
        The block's.
    expected, got : int, list of int or None
        What golden says and what the design says, as the block means it; a list of VLs if the design's grant has a bit
        for each lane.
    dut_ports : dict
        By name of the design's port: ``expected`` and ``got``, as they are on it.
    """

    output: str
    expected: int | list[int]
    got: int | list[int]
    dut_ports: dict[str, dict[str, int]]


@dataclass(frozen=True)
class Cycle:
    """One cycle of the design.

    Parameters
    ----------
    cycle : int
        Counted from the first after power-on.
    golden_cycle : int or None
        Golden's cycle whose answer is due.
    inputs, dut_inputs : dict of str to int
        By the block's names and by the design's.
    dut_outputs : dict of str to int
        What the design shows.
    """

    cycle: int
    golden_cycle: int | None
    inputs: dict[str, int]
    dut_inputs: dict[str, int]
    dut_outputs: dict[str, int]


@dataclass(frozen=True)
class Difference:
    """The first difference.

    Parameters
    ----------
    cycle : int
        The design's cycle.
    golden_cycle : int
        Golden's, whose inputs the design was given ``latency`` cycles before.
    outputs : list of Wrong
        What differs.
    cycles : list of Cycle
        Those before it, and it.
    """

    cycle: int
    golden_cycle: int
    outputs: list[Wrong]
    cycles: list[Cycle]

    def document(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        *before, now = (asdict(each) for each in self.cycles)
        return {
            "cycle": self.cycle,
            "golden_cycle": self.golden_cycle,
            "outputs": [asdict(w) for w in self.outputs],
            "inputs": now["inputs"],
            "dut_inputs": now["dut_inputs"],
            "dut_outputs": now["dut_outputs"],
            "before": before,
        }

    def __str__(self) -> str:
        said = "; ".join(
            f"{wrong.output}: golden {_said(wrong.expected)}, {'/'.join(wrong.dut_ports)} says {_said(wrong.got)}"
            for wrong in self.outputs
        )
        return f"cycle {self.cycle} (golden's {self.golden_cycle}): {said}"


@dataclass
class ForeignResult:
    """A finished run.

    Parameters
    ----------
    cycles, dut_cycles : int
        Golden's cycles, and those of the design.
    checked : int
        Golden's cycles whose answer was compared; a reset clears those on their way.
    decisions : int
        Decisions or look-ups of golden.
    seconds : float
        Wall time, compilation apart.
    coverage : Coverage
        What happened of what the traffic is meant to show.
    difference : Difference or None
        The first one; the run ends there.
    ended : str
        Why the design ended its own run; empty if it did not.
    """

    cycles: int
    dut_cycles: int
    checked: int
    decisions: int
    seconds: float
    coverage: Coverage
    difference: Difference | None = None
    ended: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the design did in every cycle what golden does."""
        return self.difference is None and not self.ended


@dataclass
class ForeignRun:
    """A foreign design, the map to a block, and what they are run with.

    Parameters
    ----------
    block : Block
        The block.
    parameters : mapping
        Of its instance.
    given : DutMap
        The map.
    design : Design
        The design.
    cycles, seed : int
        Golden's cycles; repeats the run.
    table : Path, optional
        Table that is programmed, or that the design has built in.

    Raises
    ------
    InputError
        If the map does not fit, or the table.
    """

    block: Block
    parameters: Mapping[str, Any]
    given: DutMap
    design: Design
    cycles: int
    seed: int
    table: Path | None = None
    wiring: Wiring = field(init=False)

    def __post_init__(self) -> None:
        self.wiring = Wiring(self.block, self.parameters, self.given, self.design.top, self.design.ports)
        self._traffic()

    def _traffic(self) -> Traffic:
        return foreign_traffic(
            self.block, self.parameters, self.wiring, cycles=self.cycles, seed=self.seed, table=self.table
        )

    def _model(self, *, traced: bool = False) -> ForeignModel:
        clock = self.given.clock
        return self.design.compiled(self.wiring.dut_ports, clock.port, falling=clock.edge == "falling", traced=traced)

    def run(self) -> ForeignResult:
        """Run the design beside golden up to the first difference, or to the end.

        Raises
        ------
        InputError
            If the traffic uses what the design lacks.
        """
        traffic, warm_up = self._traffic(), self._traffic().stimulus
        stimulus, wiring = traffic.stimulus, self.wiring
        warm_up.fill(np.zeros((1, wiring.inputs.words), np.uint64), np.zeros((1, wiring.outputs.words), np.uint64))
        counted = checked = done = 0
        difference, ended = None, ""
        history: list[tuple[int, Batch, Words]] = []
        with stdout_elsewhere(), self._model() as model:
            model.begin(self.seed)
            start = time.perf_counter()
            try:
                for batch in batches(wiring, traffic):
                    got = model.run(batch.dut_rows)
                    history = [*history[-1:], (done, batch, got)]
                    wrong = ((got ^ batch.expected) & batch.care).any(axis=1)
                    if wrong.any():
                        at = int(np.flatnonzero(wrong)[0])
                        difference = self._difference(history, at)
                        done, checked = done + at + 1, checked + batch.compared(at + 1)
                        counted = difference.golden_cycle + 1
                        break
                    counted, done = counted + batch.counted, done + len(batch.rows)
                    checked += batch.compared(len(batch.rows))
            except DesignError as error:
                ended = str(error)
            seconds = time.perf_counter() - start
        if not (checked or ended):
            ended = "nothing was compared: no output of the map counted in any cycle"
        if difference is not None:
            stimulus = self._until(difference.golden_cycle)
        coverage = coverage_of(stimulus, counted, complete=difference is None and not ended)
        return ForeignResult(counted, done, checked, stimulus.decisions, seconds, coverage, difference, ended)

    def _until(self, cycle: int) -> Stimulus:
        """Return the stimulus as it is after a cycle of golden: what it counted is up to there."""
        traffic = self._traffic()
        left = traffic.unseen + cycle + 1
        rows = np.zeros((ROWS, self.wiring.inputs.words), np.uint64)
        outputs = np.zeros((ROWS, self.wiring.outputs.words), np.uint64)
        while left:
            left -= traffic.stimulus.fill(rows[:left], outputs[:left])
        return traffic.stimulus

    def _difference(self, history: list[tuple[int, Batch, Words]], at: int) -> Difference:
        """Return what differs in cycle ``at`` of the last batch."""
        first, batch, got = history[-1]
        cycles = []
        for begin, each, shown in history:
            least = max(0, first + at - BEFORE - begin)
            until = at + 1 if each is batch else len(each.rows)
            cycles += [self._cycle(begin, each, shown, index) for index in range(least, until)]
        wiring = self.wiring
        expected = np.where(
            batch.care[at] != 0, (batch.expected[at] & batch.care[at]) | (got[at] & ~batch.care[at]), got[at]
        )
        wanted, found = wiring.answer(expected), wiring.answer(got[at])
        on_wires = (wiring.dut_outputs.values(expected), wiring.dut_outputs.values(got[at]))
        outputs = []
        for name, wire in wiring.map.outputs.items():
            ports = {
                port: {"expected": on_wires[0][port], "got": on_wires[1][port]}
                for port in wire.names
                if on_wires[0][port] != on_wires[1][port]
            }
            if ports:
                outputs.append(Wrong(name, wanted[name], found[name], ports))
        return Difference(first + at, int(batch.origin[at]), outputs, cycles)

    def _cycle(self, begin: int, batch: Batch, got: Words, at: int) -> Cycle:
        wiring, origin = self.wiring, int(batch.origin[at])
        return Cycle(
            begin + at,
            origin if origin >= 0 else None,
            wiring.inputs.values(batch.rows[at]),
            wiring.dut_inputs.values(batch.dut_rows[at]),
            wiring.dut_outputs.values(got[at]),
        )

    def write_wave(self, file: Path, difference: Difference | None) -> tuple[int, int]:
        """Write the design's signals around a difference, or from the start; return the first cycle and the last.

        Inputs and outputs of cycle ``n`` of those written have settled at time ``2 n``.

        Raises
        ------
        InputError
            Naming ``--waves``, if the file cannot be written.
        """
        least = max(0, difference.cycle - _WAVE_BEFORE) if difference else 0
        most = difference.cycle + _WAVE_AFTER if difference else _WAVE_FIRST - 1
        done, opened = 0, False
        with tempfile.TemporaryDirectory() as folder, stdout_elsewhere(), self._model(traced=True) as model:
            wave = Path(folder) / "wave.vcd"
            model.begin(self.seed)
            for batch in batches(self.wiring, self._traffic()):
                count = len(batch.rows)
                here = max(0, least - done)
                until = min(count, most + 1 - done)
                if here:
                    model.run(batch.dut_rows[: min(here, count)])
                if here < count and not opened:
                    model.wave_from_here(wave)
                    opened = True
                if here < until:
                    model.run(batch.dut_rows[here:until])
                done += count
                if done > most:
                    break
            model.close()
            write_whole(file, wave.read_bytes(), option="--waves")
        return least, min(most, done - 1)


def _said(value: int | list[int]) -> str:
    if isinstance(value, int):
        return str(value)
    return " and ".join(map(str, value)) or "none"
