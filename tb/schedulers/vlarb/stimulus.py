"""Stimulus of the VL arbiter: traffic and tables, with golden's outputs."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw_bits
from vlane.golden.oracle.egress import BEHIND, EgressMachine, scheduler_oracle
from vlane.golden.schedulers import vlarb_line_rate as line_rate
from vlane.golden.schedulers.vlarb_rules import applicable_rules
from vlane.schedulers.vlarb import VLArbEntry, VLArbTable
from vlane.schedulers.writes import ListSelect, Write
from vlane.tb.machinery.native.packing import in_rows
from vlane.tb.machinery.native.stimulus import Layout, cut
from vlane.tb.schedulers.queue_environment import P_IDLE_BITS, QueueEnvironment
from vlane.tb.schedulers.rows_egress import DRAW, Traffic
from vlane.tb.schedulers.stimulus_egress import EgressStimulus, watch
from vlane.tb.schedulers.traffic import Phase
from vlane.tb.schedulers.vlarb.qualification import qualification
from vlane.tb.schedulers.vlarb.tables import random_tables


@inner
def _draw(state: line_rate.State, machine: EgressMachine, environment: QueueEnvironment, traffic: Traffic) -> None:
    """Draw which lanes have a second packet."""
    saturated = not traffic.wild and traffic.chances[P_IDLE_BITS] == 0
    machine.input_values[BEHIND] = ((1 << environment.data_vls) - 1) & (
        -1 if saturated else draw_bits(environment.bits)
    )


DRAW[line_rate.State] = _draw


_APPLICABLE = {"exact": applicable_rules, "line_rate": line_rate.applicable_rules}
"""Function that returns the rules that a table can reach, by form."""


class VLArbTraffic(EgressStimulus):
    """Stimulus of the VL arbiter for a plan of phases.

    Parameters
    ----------
    data_vls, entries : int
        Data lanes and entries of the arbiter.
    vl15 : bool
        Whether the arbiter has the VL15 requester.
    form : str
        ``exact`` or ``line_rate``.
    parity : bool
        Whether the arbiter has the output ``upset``, which stays 0.
    tables : sequence of VLArbTable
        Tables for phases and rewrites, padded with empty entries.
    phases : sequence of Phase
        Phases, in the order in which they run.
    seed : int
        Seed of the random choices; equal arguments give equal rows.
    inputs, outputs : mapping
        Position of every port in a row.

    Raises
    ------
    ValueError
        If a table has more entries than the arbiter, or a phase names a table that does not exist.
    """

    def __init__(
        self,
        *,
        data_vls: int,
        entries: int,
        vl15: bool,
        form: str = "exact",
        parity: bool = False,
        tables: Sequence[VLArbTable],
        phases: Sequence[Phase],
        seed: int,
        inputs: Layout,
        outputs: Layout,
    ) -> None:
        parameters = {"data_vls": data_vls, "entries": entries, "vl15": vl15, "form": form, "parity": parity}
        super().__init__(
            scheduler_oracle("vlarb", parameters, in_rows(inputs, outputs)),
            writes=np.array([table.padded(entries) for table in tables], np.int64),
            phases=phases,
            seed=seed,
        )


def qualified(
    parameters: Mapping[str, Any],
    *,
    cycles: int,
    seed: int,
    inputs: Layout,
    outputs: Layout,
    phases: Sequence[Phase] = (),
) -> VLArbTraffic:
    """Return the qualification stimulus of an arbiter: all rules and corner cases.

    ``phases`` replaces the usual traffic, and the tables by a single one.
    """
    data_vls, entries = parameters["data_vls"], parameters["entries"]
    if phases:
        tables = random_tables(1, data_vls=data_vls, entries=entries, seed=seed)
        return planned(parameters, tables, phases, seed=seed, inputs=inputs, outputs=outputs)
    by_block = parameters.get("form") == "line_rate"
    drawn = qualification(data_vls=data_vls, entries=entries, cycles=cycles, seed=seed, block_by_block=by_block)
    traffic = planned(parameters, drawn.tables, cut(drawn.phases, cycles), seed=seed, inputs=inputs, outputs=outputs)
    watch(traffic, "vlarb", parameters, inputs=inputs, outputs=outputs)
    return traffic


def saturating(
    parameters: Mapping[str, Any], phases: Sequence[Phase], *, seed: int, inputs: Layout, outputs: Layout
) -> VLArbTraffic:
    """Return the stimulus of a table in which both lists name the lanes in order, with weight 1."""
    listed = tuple(VLArbEntry(index % parameters["data_vls"], 1) for index in range(parameters["entries"]))
    return planned(parameters, [VLArbTable(listed, listed, 1)], phases, seed=seed, inputs=inputs, outputs=outputs)


def drawn_writes(lanes: int, entries: int, source: random.Random) -> list[Write]:
    """Return the writes of a random table. Every lane has an entry if there are enough entries."""
    half = entries // 2
    low = [(ListSelect.LOW, entry, entry % lanes, source.randrange(1, 40)) for entry in range(entries)]
    high = [(ListSelect.HIGH, entry, source.randrange(lanes), source.randrange(0, 20)) for entry in range(half)]
    rest = [(ListSelect.HIGH, entry, 0, 0) for entry in range(half, entries)]
    limit = (ListSelect.LIMIT, 0, 0, source.choice((0, 1, 3, 255)))
    return [(int(select), *write) for select, *write in (*low, *high, *rest, limit)]  # type: ignore[misc]


def planned(
    parameters: Mapping[str, Any],
    tables: Sequence[VLArbTable],
    phases: Sequence[Phase],
    *,
    seed: int,
    inputs: Layout,
    outputs: Layout,
) -> VLArbTraffic:
    """Return the stimulus for given tables and phases, with the rules that these tables can reach."""
    traffic = VLArbTraffic(**parameters, tables=tables, phases=phases, seed=seed, inputs=inputs, outputs=outputs)
    applicable = _APPLICABLE[parameters.get("form", "exact")]
    traffic.applicable = frozenset(
        name
        for table in tables
        for name in applicable(table, data_vls=parameters["data_vls"], has_vl15=parameters["vl15"])
    )
    return traffic
