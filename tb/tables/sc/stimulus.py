"""Stimulus of Omni-Path's maps: random look-ups and entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import kernel
from vlane.golden.engine.random_bits import below, draw
from vlane.golden.tables import sc as golden
from vlane.tables.sc import SC_COUNT, SCTable
from vlane.tb.machinery.native.crosses import Happened, note_rules
from vlane.tb.machinery.native.packing import clear_row, put
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus
from vlane.tb.tables.sc import crosses as crosses_sc
from vlane.tb.tables.stimulus_tables import LookupPhase, TableStimulus, lookup_phases

_CERTAIN = 256
_TABLES = len(SCTable)


@kernel
def _fill(
    state: golden.SCState,
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
    ports = state.channels.shape[0]
    for cycle in range(len(rows)):
        clear_row(rows, cycle)
        clear_row(expected, cycle)
        writes, near = below(bits, _CERTAIN) < chances[0], below(bits, _CERTAIN) < chances[1]
        table = below(bits, 8 if below(bits, 16) == 0 else _TABLES)
        to_ingress, to_egress = below(bits, ports), below(bits, ports)
        if below(bits, 16) == 0:
            to_ingress, to_egress = below(bits, 64), below(bits, 64)
        index, value = below(bits, SC_COUNT), below(bits, SC_COUNT)
        if below(bits, 8) == 0:
            value = 15
        for port in range(ports):
            sc, egress = below(bits, SC_COUNT), below(bits, ports)
            if below(bits, 32) == 0:
                egress = below(bits, 64)
            if near and port == to_ingress:
                sc, egress = index, to_egress
            vl_in, invalid = golden.lane_in(state, port, sc, rules)
            channel, vl, dropped = golden.forward(state, port, egress, sc, rules)
            put(rows, cycle, given, 1 + port, sc)
            put(rows, cycle, given, 1 + ports + port, egress)
            put(expected, cycle, wanted, port, vl_in)
            put(expected, cycle, wanted, ports + port, invalid)
            put(expected, cycle, wanted, 2 * ports + port, channel)
            put(expected, cycle, wanted, 3 * ports + port, vl)
            put(expected, cycle, wanted, 4 * ports + port, dropped)
        lookups[0] += ports
        sl, received = below(bits, SC_COUNT), below(bits, SC_COUNT)
        injected, refused = golden.inject(state, sl, rules)
        put(expected, cycle, wanted, 5 * ports, injected)
        put(expected, cycle, wanted, 5 * ports + 1, refused)
        put(expected, cycle, wanted, 5 * ports + 2, golden.receive(state, received))
        put(rows, cycle, given, 0, (draw(bits) & 0xFFFF) < chances[2])
        at = 1 + 2 * ports
        put(rows, cycle, given, at, sl)
        put(rows, cycle, given, at + 1, received)
        put(rows, cycle, given, at + 2, writes)
        put(rows, cycle, given, at + 3, table)
        put(rows, cycle, given, at + 4, to_ingress)
        put(rows, cycle, given, at + 5, to_egress)
        put(rows, cycle, given, at + 6, index)
        put(rows, cycle, given, at + 7, value)
        if writes:
            golden.write(state, table, to_ingress, to_egress, index, value)
        note_rules(happened, rules, cycle)


class SCLookups(TableStimulus):
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
        count = parameters["ports"]
        names = ("enable", "table", "ingress", "egress", "index", "value")
        writes = [(f"program__{name}", 1) for name in names]
        super().__init__(
            phases,
            golden.RULES,
            seed=seed,
            inputs=inputs,
            outputs=outputs,
            given=[("rst", 1), ("channel", count), ("egress", count), ("inject_sl", 1), ("receive_sc", 1), *writes],
            wanted=[
                ("vl_in", count),
                ("invalid_in", count),
                ("channel_out", count),
                ("vl", count),
                ("drop", count),
                ("inject_sc", 1),
                ("inject_drop", 1),
                ("receive_sl", 1),
            ],
        )
        if parameters["data_vls"] == 31:
            self.applicable -= {"no_such_lane"}
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
    """Return the stimulus that qualifies the maps: it reaches every rule and every corner case."""
    lookups = SCLookups(parameters, phases=lookup_phases(cycles), seed=seed, inputs=inputs, outputs=outputs)
    lookups.watch(
        crosses_sc.crosses(parameters),
        crosses_sc.EVENTS,
        inputs=inputs,
        outputs=outputs,
        judged_from_cycles=crosses_sc.JUDGED_FROM_CYCLES,
    )
    return lookups
