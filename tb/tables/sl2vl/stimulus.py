"""Stimulus of SL to VL mapping: random look-ups and rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import kernel
from vlane.golden.engine.random_bits import below, draw
from vlane.golden.tables import sl2vl as golden
from vlane.tb.machinery.native.crosses import Happened, note_rules
from vlane.tb.machinery.native.packing import clear_row, put
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus
from vlane.tb.tables.sl2vl import crosses as crosses_sl2vl
from vlane.tb.tables.stimulus_tables import LookupPhase, TableStimulus, lookup_phases

_CERTAIN = 256


@kernel
def _fill(
    state: golden.SL2VLState,
    chances: NDArray[np.int64],
    bits: NDArray[np.uint64],
    given: NDArray[np.int64],
    wanted: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    rules: NDArray[np.int64],
    happened: Happened,
    lookups: NDArray[np.int64],
) -> None:
    """Fill one row of inputs and of expected outputs per cycle."""
    inputs, outputs, _ = state.row.shape
    for cycle in range(len(rows)):
        clear_row(rows, cycle)
        clear_row(expected, cycle)
        writes = below(bits, _CERTAIN) < chances[0]
        near = below(bits, _CERTAIN) < chances[1]
        every, to_input, to_output = below(bits, 8) == 0, below(bits, inputs + 1), below(bits, outputs + 1)
        if to_input == inputs:
            to_input = below(bits, 64)
        if to_output == outputs:
            to_output = below(bits, 64)
        row = (draw(bits) & 0xFFFF_FFFF) << 32 | (draw(bits) & 0xFFFF_FFFF)
        if below(bits, 4) == 0:
            row &= 0x7777_7777_7777_7777
        for port in range(inputs):
            output, sl = below(bits, outputs), below(bits, 16)
            if below(bits, 32) == 0:
                output = below(bits, 64)
            if near and port == to_input:
                output = to_output
            vl, dropped, invalid = golden.look_up(state, port, output, sl)
            golden.count_rules(state, dropped, invalid, output, rules)
            rules[golden.WHILE_WRITTEN] += writes and to_output == output and (every or to_input == port)
            put(rows, cycle, given, 1 + port, output)
            put(rows, cycle, given, 1 + inputs + port, sl)
            put(expected, cycle, wanted, port, vl)
            put(expected, cycle, wanted, inputs + port, dropped)
            put(expected, cycle, wanted, 2 * inputs + port, invalid)
        lookups[0] += inputs
        put(rows, cycle, given, 0, (draw(bits) & 0xFFFF) < chances[2])
        at = 1 + 2 * inputs
        put(rows, cycle, given, at, writes)
        put(rows, cycle, given, at + 1, every)
        put(rows, cycle, given, at + 2, to_input)
        put(rows, cycle, given, at + 3, to_output)
        put(rows, cycle, given, at + 4, row)
        if writes:
            golden.write(state, every, to_input, to_output, row)
            rules[golden.ALL_INPUTS] += every and to_output < outputs
        note_rules(happened, rules, cycle)


class SL2VLLookups(TableStimulus):
    """Golden with random look-ups and writes.

    Parameters
    ----------
    parameters : mapping
        Parameters of the component.
    phases : sequence of LookupPhase
        Phases, in the order in which they run.
    seed : int
        Seed of the random choices; equal arguments give equal rows.
    inputs, outputs : mapping
        Position of every port in a row.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *,
        phases: tuple[LookupPhase, ...],
        seed: int,
        inputs: Layout,
        outputs: Layout,
    ) -> None:
        count = parameters["inputs"]
        writes = [(f"program__{name}", 1) for name in ("enable", "every_input", "input", "output", "row")]
        super().__init__(
            phases,
            golden.RULES,
            seed=seed,
            inputs=inputs,
            outputs=outputs,
            given=[("rst", 1), ("output", count), ("sl", count), *writes],
            wanted=[("vl", count), ("drop", count), ("invalid", count)],
        )
        if parameters["data_vls"] == 15:
            self.applicable -= {"invalid"}
        if parameters["outputs"] == 64:
            self.applicable -= {"no_such_output"}
        self._state = golden.new_state(**parameters)

    def _cycles(self, chances: NDArray[np.int64], rows: Words, expected: Words, rules: Counts) -> None:
        _fill(
            self._state,
            chances,
            self._bits,
            self._given,
            self._wanted,
            rows,
            expected,
            rules,
            self.happened,
            self._lookups,
        )


def qualified(parameters: Mapping[str, Any], *, cycles: int, seed: int, inputs: Layout, outputs: Layout) -> Stimulus:
    """Return the stimulus that qualifies the mapping: it reaches every rule and every corner case."""
    lookups = SL2VLLookups(parameters, phases=lookup_phases(cycles), seed=seed, inputs=inputs, outputs=outputs)
    lookups.watch(
        crosses_sl2vl.crosses(parameters),
        crosses_sl2vl.EVENTS,
        inputs=inputs,
        outputs=outputs,
        judged_from_cycles=crosses_sl2vl.JUDGED_FROM_CYCLES,
    )
    return lookups
