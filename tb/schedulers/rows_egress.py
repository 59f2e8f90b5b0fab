"""Rows of inputs and expected outputs of an egress scheduler, one per clock cycle, from its oracle.

One kernel fills the rows of all schedulers. Inputs that a single scheduler has are drawn by two functions of its
stimulus, dispatched on the type of the golden state and registered in ``DRAW`` and ``NOTE``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import by_type, kernel
from vlane.golden.oracle.egress import READY, EgressMachine, put_scheduler, run_scheduler
from vlane.golden.schedulers.heads import NO_LANE
from vlane.tb.machinery.native.crosses import EventLog, log_rules
from vlane.tb.schedulers.queue_environment import QueueEnvironment, apply_grant, drive_cycle
from vlane.tb.schedulers.traffic import Statistics


class Tables(NamedTuple):
    """Tables that phases program into the scheduler.

    Parameters
    ----------
    writes : array of int64, (tables, writes, 4)
        Writes of each table.
    field_bits : array of int64, (4,)
        Widths of the program port's fields.
    """

    writes: NDArray[np.int64]
    field_bits: NDArray[np.int64]


class Traffic(NamedTuple):
    """Settings of the traffic of a phase.

    Parameters
    ----------
    chances : array of int64
        Probabilities, as ``environment`` numbers them.
    wild : bool
        Whether every input is random.
    """

    chances: NDArray[np.int64]
    wild: bool


DRAW: dict[type, Callable[..., None]] = {}
NOTE: dict[type, Callable[..., None]] = {}
"""Functions ``draw_specific_inputs`` and ``record_grant`` by type of the golden state, registered by each stimulus."""


@by_type(DRAW, default=True)
def draw_specific_inputs(state: Any, machine: EgressMachine, environment: QueueEnvironment, traffic: Traffic) -> None:
    """Draw the inputs that only this scheduler has into ``machine``, after the common inputs."""


@by_type(NOTE, default=True)
def record_grant(state: Any, machine: EgressMachine, environment: QueueEnvironment, lane: int) -> None:
    """Update the state of the specific inputs after a cycle that started a packet of ``lane``, ``NO_LANE`` for none."""


@kernel
def fill(
    machine: EgressMachine,
    environment: QueueEnvironment,
    tables: Tables,
    traffic: Traffic,
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    event_log: EventLog,
    stats: Statistics,
) -> None:
    """Draw the inputs of each clock cycle, and run the oracle for the expected outputs.

    Parameters
    ----------
    machine : EgressMachine
        Oracle of any scheduler; changed in place, as is the environment.
    rows, expected : array of uint64, (cycles, words)
        Rows to fill.
    event_log : EventLog
        Record of the rules of each cycle, filled.
    stats : Statistics
        Statistics of the service that each lane received, updated.
    """
    state, given = machine.state, machine.input_values
    for cycle in range(len(rows)):
        drive_cycle(environment, traffic.chances, traffic.wild, tables.writes, tables.field_bits, given)
        draw_specific_inputs(state, machine, environment, traffic)
        put_scheduler(machine, rows[cycle])
        lane, source = run_scheduler(machine, expected[cycle])
        log_rules(event_log, machine.rules, cycle)
        apply_grant(environment, traffic.chances, len(tables.writes), given, lane, source, stats)
        record_grant(state, machine, environment, lane if given[READY] != 0 else NO_LANE)
