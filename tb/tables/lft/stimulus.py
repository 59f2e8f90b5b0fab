"""Stimulus of LFT look-up: random destinations, entries and tops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import below, draw
from vlane.golden.tables import lft as golden
from vlane.tables.lft import UNASSIGNED
from vlane.tb.machinery.native.crosses import Happened, note_rules
from vlane.tb.machinery.native.packing import clear_row, put
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus
from vlane.tb.tables.lft import crosses as crosses_lft
from vlane.tb.tables.stimulus_tables import LookupPhase, TableStimulus, lookup_phases

_CERTAIN = 256


@inner
def _destination(bits: NDArray[np.uint64], entries: int, top: int) -> int:
    kind = below(bits, 32)
    if kind == 0:
        return 0
    if kind == 1:
        return 0xFFFF ^ ((1 << below(bits, 16)) if below(bits, 2) else 0)
    if kind == 2:
        return 0xC000 - below(bits, 2)
    if kind == 3:
        return below(bits, 65536)
    if kind == 4:
        return min(top + below(bits, 2), 65535)
    if kind == 5:
        return entries - below(bits, 2)
    if kind in (6, 7):
        return (1 << below(bits, 16)) | (below(bits, entries) if kind == 6 else 0)
    return below(bits, entries)


@kernel
def _fill(
    state: golden.LFTState,
    lookups: int,
    chances: NDArray[np.int64],
    bits: NDArray[np.uint64],
    given: NDArray[np.int64],
    wanted: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    rules: NDArray[np.int64],
    happened: Happened,
    done: NDArray[np.int64],
) -> None:
    """Fill one row of inputs and of expected outputs per cycle."""
    entries, last = len(state.port), 0
    for cycle in range(len(rows)):
        clear_row(rows, cycle)
        clear_row(expected, cycle)
        writes, near = below(bits, _CERTAIN) < chances[0], below(bits, _CERTAIN) < chances[1]
        is_top = below(bits, 16) == 0
        lid = below(bits, entries)
        if below(bits, 16) == 0 or (is_top and below(bits, 4) == 0):
            lid = below(bits, 65536)
        if is_top and below(bits, 2):
            lid = 1 << below(bits, 16)
        elif below(bits, 8) == 0:
            lid |= 1 << below(bits, 16)
        port = below(bits, state.ports + 2)
        if below(bits, 8) == 0:
            port = UNASSIGNED if below(bits, 2) else below(bits, 256)
        for index in range(lookups):
            dlid = _destination(bits, entries, state.top[0])
            if index == 0 and near:
                dlid = lid if below(bits, 4) else last
            out, cause = golden.look_up(state, dlid, rules)
            put(rows, cycle, given, 1 + index, dlid)
            put(expected, cycle, wanted, index, out)
            put(expected, cycle, wanted, lookups + index, cause != 0)
            put(expected, cycle, wanted, 2 * lookups + index, cause)
        done[0] += lookups
        last = lid
        resets = (draw(bits) & 0xFFFF) < chances[2]
        put(rows, cycle, given, 0, resets)
        put(rows, cycle, given, 1 + lookups, writes)
        put(rows, cycle, given, 2 + lookups, is_top)
        put(rows, cycle, given, 3 + lookups, lid)
        put(rows, cycle, given, 4 + lookups, port)
        if writes:
            golden.write(state, is_top, lid, port)
        if resets:
            golden.reset(state)
        note_rules(happened, rules, cycle)


class LFTLookups(TableStimulus):
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
        count = parameters["lookups"]
        writes = [(f"program__{name}", 1) for name in ("enable", "top", "lid", "port")]
        super().__init__(
            phases,
            golden.RULES,
            seed=seed,
            inputs=inputs,
            outputs=outputs,
            given=[("rst", 1), ("dlid", count), *writes],
            wanted=[("port", count), ("drop", count), ("cause", count)],
        )
        if parameters["ports"] == 254:
            self.applicable -= {"no_such_port"}
        self._count = count
        self._state = golden.new_state(**parameters)

    def _cycles(self, chances: NDArray[np.int64], rows: Words, expected: Words, rules: Counts) -> None:
        _fill(
            self._state,
            self._count,
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
    """Return the stimulus that qualifies the look-up: it reaches every rule and every corner case."""
    lookups = LFTLookups(parameters, phases=lookup_phases(cycles), seed=seed, inputs=inputs, outputs=outputs)
    lookups.watch(
        crosses_lft.crosses(parameters),
        crosses_lft.EVENTS,
        inputs=inputs,
        outputs=outputs,
        judged_from_cycles=crosses_lft.JUDGED_FROM_CYCLES,
    )
    return lookups
