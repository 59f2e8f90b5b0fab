"""Lockstep of a foreign design and golden, up to the first difference."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vlane.dut_map import DutMap
from vlane.sim_top.blocks import Block
from vlane.sim_top.dut.design import Design, DesignError, ForeignModel, stdout_elsewhere
from vlane.sim_top.dut.golden_wave import WAVE_AFTER, WAVE_FIRST, Track, annotated, window, write_waves
from vlane.sim_top.dut.ports import bits_of_rows
from vlane.sim_top.dut.schedule import ROWS, Batch, batches
from vlane.sim_top.dut.stimulus import Traffic, foreign_traffic
from vlane.sim_top.dut.wiring import RESET, Wiring
from vlane.tb.machinery.native.coverage import Coverage, coverage_of
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Stimulus

BEFORE = 5
"""Number of cycles shown before a difference."""


@dataclass(frozen=True)
class Wrong:
    """Output that differs.

    Parameters
    ----------
    output : str
        Output of the block.
    expected, got : int, list of int or None
        Values of golden and of the design, in the block's encoding; a list of VLs if the design's grant is one-hot.
    dut_ports : dict
        Values ``expected`` and ``got`` on the design's ports, by port.
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
        Cycle number, counted from power-on.
    golden_cycle : int or None
        Golden's cycle whose answer is due.
    inputs, dut_inputs : dict of str to int
        Inputs by the block's names and by the design's names.
    dut_outputs : dict of str to int
        Outputs of the design.
    """

    cycle: int
    golden_cycle: int | None
    inputs: dict[str, int]
    dut_inputs: dict[str, int]
    dut_outputs: dict[str, int]


@dataclass(frozen=True)
class Difference:
    """First difference of a run.

    Parameters
    ----------
    cycle : int
        Cycle of the design.
    golden_cycle : int
        Golden's cycle, whose inputs the design received ``latency`` cycles earlier.
    outputs : list of Wrong
        Differing outputs.
    cycles : list of Cycle
        Preceding cycles and the differing cycle.
    rules : list of str
        Ids and names of golden's rules that decided the expected answer, for blocks that count rules.
    """

    cycle: int
    golden_cycle: int
    outputs: list[Wrong]
    cycles: list[Cycle]
    rules: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """Return the difference as a JSON object."""
        *before, now = (asdict(each) for each in self.cycles)
        return {
            "cycle": self.cycle,
            "golden_cycle": self.golden_cycle,
            "outputs": [asdict(w) for w in self.outputs],
            "rules": self.rules,
            "inputs": now["inputs"],
            "dut_inputs": now["dut_inputs"],
            "dut_outputs": now["dut_outputs"],
            "before": before,
        }

    def __str__(self) -> str:
        said = "; ".join(
            f"{wrong.output}: golden {_said(wrong.expected)}, {'/'.join(wrong.dut_ports)} {_said(wrong.got)}"
            for wrong in self.outputs
        )
        return f"cycle {self.cycle} (golden's cycle {self.golden_cycle}): {said}"


@dataclass
class ForeignResult:
    """Result of a run.

    Parameters
    ----------
    cycles, dut_cycles : int
        Numbers of cycles of golden and of the design.
    checked : int
        Number of golden's cycles whose answer was compared; a reset discards answers in flight.
    decisions : int
        Number of golden's decisions or look-ups.
    seconds : float
        Wall time without compilation.
    coverage : Coverage
        Coverage of the rules and crosses that apply.
    difference : Difference or None
        First difference, which ends the run.
    ended : str
        Reason why the design ended its run; empty if it did not.
    resets : int
        Number of the design's cycles in reset.
    """

    cycles: int
    dut_cycles: int
    checked: int
    decisions: int
    seconds: float
    coverage: Coverage
    difference: Difference | None = None
    ended: str = ""
    resets: int = 0

    @property
    def agrees(self) -> bool:
        """Whether the design agreed with golden in every cycle."""
        return self.difference is None and not self.ended


@dataclass
class ForeignRun:
    """Foreign design with the map to a block and the settings of the run.

    Parameters
    ----------
    block : Block
        The block.
    parameters : mapping
        Parameters of the block's instance.
    given : DutMap
        Port map.
    design : Design
        Foreign design.
    cycles, seed : int
        Number of golden's cycles, and seed of the stimulus.
    table : Path, optional
        Table to program, or the design's built-in table.

    Raises
    ------
    InputError
        If the map or the table does not fit.
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
        """Run the design against golden until the first difference or the end.

        Raises
        ------
        InputError
            If the traffic needs a port that the design lacks.
        """
        traffic, warm_up = self._traffic(), self._traffic().stimulus
        stimulus, wiring = traffic.stimulus, self.wiring
        warm_up.fill(np.zeros((1, wiring.inputs.words), np.uint64), np.zeros((1, wiring.outputs.words), np.uint64))
        counted = checked = done = resets = 0
        difference, ended = None, ""
        history: list[tuple[int, Batch, Words]] = []
        with stdout_elsewhere(), self._model() as model:
            model.begin(self.seed)
            start = time.perf_counter()
            try:
                for batch in batches(wiring, traffic):
                    got = model.run(batch.dut_rows)
                    history = [*history[-1:], (done, batch, got)]
                    resets += int(wiring.inputs.layout[RESET].get(batch.rows).sum())
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
            ended = "nothing was compared: the conditions of the mapped outputs were never met"
        if difference is not None:
            stimulus = self._until(difference.golden_cycle)
            before = self._until(difference.golden_cycle - 1).rule_counts()
            after = stimulus.rule_counts()
            difference.rules.extend(
                f"{rule.decision} {rule.name}" for rule in stimulus.rules if after[rule.name] > before[rule.name]
            )
        coverage = coverage_of(stimulus, counted, complete=difference is None and not ended)
        return ForeignResult(counted, done, checked, stimulus.decisions, seconds, coverage, difference, ended, resets)

    def _until(self, cycle: int) -> Stimulus:
        """Return the stimulus, with its counts, as it is after a cycle of golden."""
        traffic = self._traffic()
        left = traffic.unseen + cycle + 1
        rows = np.zeros((ROWS, self.wiring.inputs.words), np.uint64)
        outputs = np.zeros((ROWS, self.wiring.outputs.words), np.uint64)
        while left:
            left -= traffic.stimulus.fill(rows[:left], outputs[:left])
        return traffic.stimulus

    def _difference(self, history: list[tuple[int, Batch, Words]], at: int) -> Difference:
        """Return the difference in cycle ``at`` of the last batch."""
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

    def write_wave(self, file: Path, difference: Difference | None) -> tuple[Path, int, int]:
        """Write the design's and golden's signals around a difference, or from the start.

        Returns
        -------
        wave : Path
            Name of the wave that was written.
        first, last : int
            First and last cycle of the wave.

        Raises
        ------
        InputError
            If the file cannot be written; names ``--waves``.
        """
        failed = difference.cycle if difference else None
        least, most = window(failed, WAVE_FIRST if failed is None else failed + WAVE_AFTER + 1)
        done, opened = 0, False
        rows: list[tuple[Words, Words]] = []
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
                    rows.append((batch.expected[here:until], batch.care[here:until]))
                done += count
                if done > most:
                    break
            model.close()
            text = annotated(wave.read_text(), self._tracks(rows, least, failed), least)
        return write_waves(file, text, self._port_names(), failed), least, min(most, done - 1)

    def _tracks(self, rows: list[tuple[Words, Words]], first: int, failed: int | None) -> list[Track]:
        """Return the expected value of each compared port, with x for bits that are not compared."""
        expected, care = (bits_of_rows(np.concatenate(each)) for each in zip(*rows, strict=True))
        tracks = []
        for name in dict.fromkeys(name for wire in self.given.outputs.values() for name in wire.names):
            port = self.wiring.dut_outputs.ports[name]
            part = slice(port.first, port.first + port.bits)
            texts = np.where(care[:, part] != 0, expected[:, part].astype("<U1"), "x")[:, ::-1]
            tracks.append(Track(f"expected_{name}", port.bits, ["".join(row) for row in texts.tolist()]))
        return [*tracks, Track("mismatch", 1, [str(int(first + at == failed)) for at in range(len(expected))])]

    def _port_names(self) -> list[str]:
        given = self.given
        names = [name for wire in (*given.inputs.values(), *given.outputs.values()) for name in wire.names]
        return list(dict.fromkeys([given.clock.port, *([given.reset.port] if given.reset else []), *names]))


def _said(value: int | list[int]) -> str:
    if isinstance(value, int):
        return str(value)
    return " and ".join(map(str, value)) or "none"
