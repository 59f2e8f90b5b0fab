"""Stimulus of the Deficit Table: random tables and maps, with expected outputs from the golden model."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw_bits
from vlane.golden.oracle.egress import EgressMachine
from vlane.golden.schedulers import dtable as golden
from vlane.golden.schedulers import dtable_line_rate as line_rate
from vlane.schedulers.dtable import DTable, DTableEntry
from vlane.schedulers.registry import LINE_RATE
from vlane.schedulers.writes import ScheduleSelect, Write, entry_writes
from vlane.tb.machinery.native.stimulus import Layout
from vlane.tb.schedulers.directed_schedulers import ALL_2, LANES, Scenario, Step
from vlane.tb.schedulers.dtable.stimulus_line_rate import draw_behind, note_behind
from vlane.tb.schedulers.queue_environment import QueueEnvironment
from vlane.tb.schedulers.rows_egress import DRAW, NOTE, Traffic
from vlane.tb.schedulers.stimulus_egress import EgressStimulus, applicable_turn_rules, scheduled
from vlane.tb.schedulers.traffic import Phase
from vlane.units import MAX_PACKET_BLOCKS


@inner
def _draw(state: golden.State, machine: EgressMachine, environment: QueueEnvironment, traffic: Traffic) -> None:
    """Draw the entry that an instance with InfiniBand's tables reads."""
    if len(machine.specific_inputs):
        word = draw_bits(environment.bits)
        machine.specific_inputs[0], machine.specific_inputs[1] = word & 1, (word >> 1) & 63


DRAW[golden.State], DRAW[line_rate.State], NOTE[line_rate.State] = _draw, draw_behind, note_behind


def _random_table(source: random.Random, requesters: int, entries: int) -> DTable:
    """Return a table of a kind. A tenth of its entries name a requester a bit away, which may not exist."""
    kind = source.choices(("full", "short", "sparse", "light", "heavy", "beyond", "bits"), (4, 2, 2, 3, 2, 1, 2))[0]
    length = source.randint(1, entries) if kind == "short" else entries
    most = source.choice((90, 255))
    listed = []
    for _ in range(length):
        weight = source.randint(1, most)
        if kind == "light":
            weight = source.choice((1, 2, 3, 1 ^ 1 << source.randrange(8)))
        elif kind == "heavy":
            weight = source.choice((254, 255, 190, 189))
        elif kind == "bits":
            weight = source.choice((0, MAX_PACKET_BLOCKS)) ^ 1 << source.randrange(8)
        elif kind == "sparse" and source.random() < 0.7:
            weight = 0
        sl = source.randrange(32 if kind == "beyond" and source.random() < 0.5 else requesters)
        if source.random() < 0.1:
            sl ^= 1 << source.randrange(5)
        listed.append((sl, weight))
    return DTable(tuple(listed))  # type: ignore[arg-type]


def qualified(parameters: Mapping[str, Any], **run: Any) -> EgressStimulus:
    """Return the qualification stimulus of a Deficit Table. ``run`` has the parameters of ``scheduled``."""
    data_vls, requesters, entries = (parameters[name] for name in ("data_vls", "requesters", "entries"))
    if parameters["form"] == LINE_RATE:
        applicable = line_rate.applicable_rules(has_vl15=parameters["vl15"])
    else:
        applicable = applicable_turn_rules(golden.RULES, parameters)
    return scheduled(
        "dtable",
        parameters,
        lambda source: _random_table(source, requesters or data_vls, entries).padded(entries),
        most_tables=128,
        cycles_each=80 * entries,
        applicable=applicable,
        **run,
    )


def saturating(
    parameters: Mapping[str, Any], phases: Sequence[Phase], *, seed: int, inputs: Layout, outputs: Layout
) -> EgressStimulus:
    """Return the stimulus of a table whose entries all have weight 1 and name the requesters in turn."""
    requesters, entries = parameters["requesters"] or parameters["data_vls"], parameters["entries"]
    table = DTable(tuple(DTableEntry(index % requesters, 1) for index in range(entries)))
    return qualified(
        parameters,
        cycles=sum(phase.cycles for phase in phases),
        seed=seed,
        inputs=inputs,
        outputs=outputs,
        writes=table.padded(entries),
        phases=phases,
    )


def drawn_writes(lanes: int, entries: int, source: random.Random) -> list[Write]:
    """Return the writes of a random table. Every lane has an entry if there are enough entries."""
    listed = [(entry % lanes, source.randrange(1, 30)) for entry in range(entries)]
    return entry_writes(ScheduleSelect.TABLE, listed, entries)


def _table(*entries: tuple[int, int]) -> tuple[Write, ...]:
    return tuple(entry_writes(ScheduleSelect.TABLE, entries, 4))


SCENARIO_PARAMETERS = {**LANES, "entries": 4, "form": "free", "keep_on_stall": False, "mtu_blocks": 66}
"""Parameters of the instance that the scenarios are for."""
SCENARIOS = (
    Scenario(
        "dtable",
        "DT_5_figure_3_of_the_paper_3_packets_of_2_blocks_weight_3",
        _table((0, 3), (1, 3)),
        (Step({0: 2}, 0), Step({0: 2}, 0), Step({0: 2}, 0), Step({}, None)),
    ),
    Scenario(
        "dtable",
        "DT_2_a_packet_that_fits_exactly_is_sent_one_that_does_not_is_not",
        _table((0, 4), (1, 2)),
        (Step({0: 2, 1: 2}, 0), Step({0: 2, 1: 2}, 0), Step({0: 2, 1: 2}, 1), Step({0: 2, 1: 2}, 0)),
    ),
    Scenario(
        "dtable",
        "DT_4_what_is_left_is_used_in_the_next_turn",
        _table((0, 3), (1, 2)),
        # 3: one packet, 1 left; then SL 1; 1 + 3 = 4: two packets; then SL 1 again
        (
            Step({0: 2, 1: 2}, 0),
            Step({0: 2, 1: 2}, 1),
            Step({0: 2, 1: 2}, 0),
            Step({0: 2, 1: 2}, 0),
            Step({0: 2, 1: 2}, 1),
        ),
    ),
    Scenario(
        "dtable",
        "DT_6_a_weight_below_the_packet_costs_cycles_without_a_grant",
        _table((0, 2)),
        (Step({0: 5}, None), Step({0: 5}, None), Step({0: 5}, 0), Step({0: 5}, None), Step({0: 5}, 0)),
    ),
    Scenario(
        "dtable",
        "DT_7_an_idle_requester_loses_its_deficit",
        _table((0, 3), (1, 8)),
        (Step({0: 2}, 0), Step({0: 2, 1: 9}, None), Step({1: 8}, 1), Step({0: 4, 1: 2}, None), Step({0: 4, 1: 2}, 1)),
    ),
    Scenario(
        "dtable",
        "DT_7_a_stall_loses_what_is_left",
        _table((0, 4), (1, 2)),
        (Step({0: 2}, 0), Step({0: 2, 1: 2}, 1, frozenset({0})), Step({0: 5, 1: 2}, None), Step({0: 5, 1: 2}, 1)),
    ),
    Scenario(
        "dtable",
        "DT_9_entries_of_weight_0_and_of_nobody_are_skipped",
        _table((0, 0), (9, 5), (1, 2)),
        (Step({0: 1, 1: 2}, 1), Step({0: 1}, None), Step({1: 2}, 1)),
    ),
    Scenario(
        "dtable",
        "DT_11_nothing_moves_while_the_link_is_busy_or_held",
        _table((0, 2), (1, 2)),
        (
            Step(ALL_2, 0, ready=False),
            Step(ALL_2, 0, ready=False),
            Step(ALL_2, None, hold=True),
            Step(ALL_2, 0),
            Step({**ALL_2, 3: 4}, 15),
            Step(ALL_2, 1),
        ),
    ),
)
"""Grants written out by hand, from the contract alone."""
