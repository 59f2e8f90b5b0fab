"""Rows of inputs and expected outputs of an egress scheduler, one per clock cycle, from its golden model.

One kernel fills the rows of all schedulers. Ports of a single scheduler are handled by two functions of its stimulus,
dispatched on the type of the golden state and registered in ``SHOW`` and ``NOTE``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import by_type, inner, kernel
from vlane.golden.schedulers.bank import looks_behind, step
from vlane.golden.schedulers.by_name import MODULES
from vlane.golden.schedulers.heads import NO_LANE, Heads
from vlane.tb.machinery.native.crosses import Happened, note_rules
from vlane.tb.machinery.native.packing import clear_row, put
from vlane.tb.schedulers.surroundings import (
    BEHIND,
    FITS,
    GRANT,
    HOLD,
    OUT_BLOCKS,
    OUT_LIST,
    OUT_VL,
    READY,
    REQUEST,
    RST,
    SWAP,
    Surroundings,
    after,
    before,
    put_inputs,
    vl_of,
    write_of,
)
from vlane.tb.schedulers.traffic import Statistics

NO_PLACES = np.zeros((0, 3), np.int64)
"""Positions of absent ports."""

_RENEWED = True


class OwnPorts(NamedTuple):
    """Ports of only some schedulers, and values kept by the stimulus between cycles.

    Parameters
    ----------
    inputs : array of int64, (ports, 3)
        Positions of the one-word inputs.
    elements : array of int64, (elements, 3)
        Positions of the elements of the per-requester output.
    behind : array of int64, (lanes,)
        Sizes of the packets behind the heads; 0 for none.
    behind_inputs : array of int64, (lanes, 3)
        Positions of the input with those sizes; empty if it is absent.
    kept : array of int64, (4,)
        Outputs that depend on the tables, cached until the tables change.
    """

    inputs: NDArray[np.int64]
    elements: NDArray[np.int64]
    behind: NDArray[np.int64]
    behind_inputs: NDArray[np.int64]
    kept: NDArray[np.int64]


def own_ports(
    *,
    inputs: NDArray[np.int64] = NO_PLACES,
    elements: NDArray[np.int64] = NO_PLACES,
    behind_inputs: NDArray[np.int64] = NO_PLACES,
) -> OwnPorts:
    """Return ports at the given positions, with no packets behind the heads."""
    return OwnPorts(inputs, elements, np.zeros(len(behind_inputs), np.int64), behind_inputs, np.zeros(4, np.int64))


class Ports(NamedTuple):
    """Ports of a scheduler, and the tables to be programmed.

    Parameters
    ----------
    writes : array of int64, (tables, writes, 4)
        Writes of each table.
    field_bits : array of int64, (4,)
        Widths of the program port's fields.
    given : array of int64, (INPUT_COUNT,)
        Inputs of the current cycle.
    inputs : array of int64, (INPUT_COUNT, 3)
        Positions of the inputs.
    sizes : array of int64, (2,)
        Word and lowest bit of the input with the heads' sizes.
    outputs : array of int64, (ports, 3)
        Positions of the outputs: the shared ones, then the scheduler's own one-word outputs.
    own : OwnPorts
        Other ports of the scheduler.
    """

    writes: NDArray[np.int64]
    field_bits: NDArray[np.int64]
    given: NDArray[np.int64]
    inputs: NDArray[np.int64]
    sizes: NDArray[np.int64]
    outputs: NDArray[np.int64]
    own: OwnPorts


class Traffic(NamedTuple):
    """The traffic of a phase.

    Parameters
    ----------
    chances : array of int64
        Probabilities, as ``surroundings`` numbers them.
    wild : bool
        Whether every input is random.
    """

    chances: NDArray[np.int64]
    wild: bool


@by_type({module.State: module.reset for module in MODULES})
def reset(state: Any) -> None:
    """Restore the state after reset."""


SHOW: dict[type, Callable[..., None]] = {}
NOTE: dict[type, Callable[..., None]] = {}
"""Functions ``show`` and ``note`` by type of the golden state, registered by each stimulus."""


@by_type(SHOW)
def show(
    state: Any,
    around: Surroundings,
    ports: Ports,
    traffic: Traffic,
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    cycle: int,
) -> None:
    """Draw the scheduler's own inputs, and write its own inputs and outputs, before the golden step.

    At the call both rows are zeros, and the shared inputs are drawn.
    """


@by_type(NOTE)
def note(state: Any, around: Surroundings, ports: Ports, lane: int, renewed: bool) -> None:  # noqa: FBT001 - kernels take positional arguments only
    """Complete a cycle, after the golden step and a reset.

    Parameters
    ----------
    lane : int
        Lane whose packet started; -1 for none.
    renewed : bool
        Whether this cycle had a reset, or is the first one: cached values are invalid.
    """


@inner
def show_nothing(
    state: Any,
    around: Surroundings,
    ports: Ports,
    traffic: Traffic,
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    cycle: int,
) -> None:
    """Do nothing: ``show`` of a scheduler without own ports."""


@inner
def note_nothing(state: Any, around: Surroundings, ports: Ports, lane: int, renewed: bool) -> None:  # noqa: FBT001 - kernels take positional arguments only
    """Do nothing: ``note`` of a scheduler without cached values."""


@kernel
def fill(
    state: Any,
    around: Surroundings,
    ports: Ports,
    traffic: Traffic,
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    rules: NDArray[np.int64],
    happened: Happened,
    stats: Statistics,
) -> None:
    """Write one row of inputs and of expected outputs per clock cycle.

    Parameters
    ----------
    state : State
        State of any scheduler; changed in place, as are the surroundings.
    rows, expected : array of uint64, (cycles, words)
        Rows to fill.
    rules : array of int64
        Counters of the scheduler's rules, incremented.
    happened : Happened
        Record of the rules of each cycle, filled.
    stats : Statistics
        Statistics of the service that each lane received, updated.
    """
    given, tables = ports.given, len(ports.writes)
    note(state, around, ports, NO_LANE, _RENEWED)
    for cycle in range(len(rows)):
        before(around, traffic.chances, traffic.wild, ports.writes, ports.field_bits, given)
        clear_row(rows, cycle)
        clear_row(expected, cycle)
        show(state, around, ports, traffic, rows, expected, cycle)
        put_inputs(around, given, ports.inputs, ports.sizes, rows, cycle)
        ready = given[READY] != 0
        heads = Heads(given[REQUEST], given[FITS], around.blocks, given[BEHIND], ports.own.behind)
        lane, source, granted = step(state, heads, ready, given[HOLD] != 0, write_of(given), given[SWAP] != 0, rules)
        note_rules(happened, rules, cycle)
        put(expected, cycle, ports.outputs, GRANT, granted)
        if lane >= 0:
            put(expected, cycle, ports.outputs, OUT_VL, vl_of(around, lane))
            put(expected, cycle, ports.outputs, OUT_LIST, source)
            if not looks_behind(state):  # line-rate forms show the size one cycle later
                put(expected, cycle, ports.outputs, OUT_BLOCKS, around.blocks[lane])
        starts = lane if granted else NO_LANE
        after(around, traffic.chances, tables, given, starts, source, stats)
        if given[RST] != 0:
            reset(state)
        note(state, around, ports, starts if ready else NO_LANE, given[RST] != 0)
