"""Stimulus of the Deficit Table: random tables and maps, with expected outputs from the golden model."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw
from vlane.golden.schedulers import dtable as golden
from vlane.golden.schedulers import dtable_line_rate as line_rate
from vlane.golden.schedulers.deficit import ACCUMULATED
from vlane.schedulers.dtable import DTable, DTableEntry
from vlane.schedulers.writes import ScheduleSelect, Write, entry_writes
from vlane.tb.machinery.native.packing import elements, places, put
from vlane.tb.machinery.native.stimulus import Layout
from vlane.tb.schedulers.directed_schedulers import ALL_2, LANES, Scenario, Step
from vlane.tb.schedulers.dtable.stimulus_line_rate import line_rate_ports
from vlane.tb.schedulers.rows_egress import NOTE, SHOW, Ports, Traffic, own_ports
from vlane.tb.schedulers.stimulus_egress import EgressStimulus, applicable_turn_rules, scheduled
from vlane.tb.schedulers.surroundings import READY, SWAP, Surroundings
from vlane.tb.schedulers.traffic import Phase
from vlane.units import MAX_PACKET_BLOCKS

_OUTPUTS = ("swap_pending", "unreachable", "accumulated")
_READS = ("read_vl", "read_weight")
PENDING, UNREACHABLE, LEFT, READ_VL, READ_WEIGHT = range(4, 9)
_PENDING, _MISSING = range(2)


@inner
def _show(
    state: golden.State,
    surroundings: Surroundings,
    ports: Ports,
    traffic: Traffic,
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    cycle: int,
) -> None:
    """Put the state of the swap, what is unreachable, the accumulated weight, the deficits, and what IB would read."""
    deficits, own_ports = state.deficits, ports.own
    own_ports.kept[_PENDING] = state.regs[golden.SWAP_PENDING]
    put(expected, cycle, ports.outputs, PENDING, own_ports.kept[_PENDING])
    put(expected, cycle, ports.outputs, UNREACHABLE, own_ports.kept[_MISSING])
    put(expected, cycle, ports.outputs, LEFT, deficits.regs[ACCUMULATED])
    for requester in range(len(own_ports.elements)):
        put(expected, cycle, own_ports.elements, requester, deficits.carried[requester])
    if len(own_ports.inputs):
        word = draw(surroundings.bits)
        low, index = word & 1 != 0, (word >> 1) & 63
        vl, weight = golden.read_ib(state, low, index)
        put(rows, cycle, own_ports.inputs, 0, low)
        put(rows, cycle, own_ports.inputs, 1, index)
        put(expected, cycle, ports.outputs, READ_VL, vl & 15)
        put(expected, cycle, ports.outputs, READ_WEIGHT, weight)


@inner
def _note(state: golden.State, surroundings: Surroundings, ports: Ports, lane: int, renewed: bool) -> None:  # noqa: FBT001 - as ``note`` has it
    """Keep what is unreachable until the banks are exchanged."""
    kept, given = ports.own.kept, ports.given
    if renewed or (given[READY] != 0 and (given[SWAP] != 0 or kept[_PENDING] != 0)):
        kept[_MISSING] = golden.unreachable(state)


SHOW[golden.State], NOTE[golden.State] = _show, _note


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


def qualified(parameters: Mapping[str, Any], *, inputs: Layout, outputs: Layout, **run: Any) -> EgressStimulus:
    """Return the stimulus that qualifies a Deficit Table by every rule. See ``scheduled`` for ``run``."""
    data_vls, requesters, entries = (parameters[name] for name in ("data_vls", "requesters", "entries"))
    form: dict[str, Any]
    if parameters["form"] == "line_rate":
        form = {
            "applicable": line_rate.applicable_rules(has_vl15=parameters["vl15"]),
            "state": line_rate.make_state(**parameters),
            "own": line_rate_ports(inputs, data_vls),
            "rules": line_rate.RULES,
            "outputs_beside": _OUTPUTS[:2],
        }
    else:
        packed = parameters["form"] == "ib"
        form = {
            "applicable": applicable_turn_rules(golden.RULES, parameters),
            "state": golden.make_state(**parameters),
            "own": own_ports(
                inputs=places(inputs, ["read_low", "read_index"] if packed else []),
                elements=elements(outputs, [("deficit", requesters or data_vls)]),
            ),
            "rules": golden.RULES,
            "outputs_beside": (*_OUTPUTS, *_READS) if packed else _OUTPUTS,
        }
    return scheduled(
        "dtable",
        parameters,
        lambda source: _random_table(source, requesters or data_vls, entries).padded(entries),
        most_tables=128,
        cycles_each=80 * entries,
        inputs=inputs,
        outputs=outputs,
        **form,
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
    """Return the writes of a random table for a switch's output. Every lane is served if there are entries enough."""
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
