"""Stimulus of the VL arbiter: traffic and tables, with golden's outputs."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw
from vlane.golden.schedulers import vlarb as golden
from vlane.golden.schedulers import vlarb_line_rate as line_rate
from vlane.golden.schedulers.vlarb_rules import applicable_rules
from vlane.schedulers.vlarb import VLArbEntry, VLArbTable
from vlane.schedulers.writes import ListSelect, Write
from vlane.tb.machinery.native.packing import put
from vlane.tb.machinery.native.stimulus import Layout, cut
from vlane.tb.schedulers.rows_egress import NOTE, SHOW, Ports, Traffic, note_nothing
from vlane.tb.schedulers.stimulus_egress import EgressStimulus, watch
from vlane.tb.schedulers.surroundings import BEHIND, OUT_BLOCKS, P_IDLE_BITS, READY, SWAP, Surroundings
from vlane.tb.schedulers.traffic import Phase
from vlane.tb.schedulers.vlarb.qualification import qualification
from vlane.tb.schedulers.vlarb.tables import random_tables

_FIELDS = ("select", "index", "vl", "weight")
_OUTPUTS = ("swap_pending", "unreachable", "bad_entries")
PENDING, UNREACHABLE, BAD = range(4, 7)
_PENDING, _MISSING, _BAD = range(3)


@inner
def _show(
    state: golden.State,
    around: Surroundings,
    ports: Ports,
    traffic: Traffic,
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    cycle: int,
) -> None:
    """Write the expected state of the swap, unreachable lanes, and bad entries."""
    kept = ports.own.kept
    kept[_PENDING] = state.regs[golden.SWAP_PENDING]
    put(expected, cycle, ports.outputs, PENDING, kept[_PENDING])
    put(expected, cycle, ports.outputs, UNREACHABLE, kept[_MISSING])
    put(expected, cycle, ports.outputs, BAD, kept[_BAD])


@inner
def _note(state: golden.State, around: Surroundings, ports: Ports, lane: int, renewed: bool) -> None:  # noqa: FBT001 - signature of ``note``
    """Cache the unreachable lanes and the bad entries until the banks are exchanged."""
    kept, given = ports.own.kept, ports.given
    if renewed or (given[READY] != 0 and (given[SWAP] != 0 or kept[_PENDING] != 0)):
        kept[_MISSING], kept[_BAD] = golden.unreachable(state), golden.bad_entries(state)


@inner
def _show_line_rate(
    state: line_rate.State,
    around: Surroundings,
    ports: Ports,
    traffic: Traffic,
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    cycle: int,
) -> None:
    """Draw which lanes have a second packet, and write the exact form's outputs and the size granted before."""
    saturated = not traffic.wild and traffic.chances[P_IDLE_BITS] == 0
    ports.given[BEHIND] = ((1 << around.data_vls) - 1) & (-1 if saturated else draw(around.bits))
    put(expected, cycle, ports.outputs, PENDING, state.regs[line_rate.SWAP_PENDING])
    put(expected, cycle, ports.outputs, UNREACHABLE, line_rate.unreachable(state))
    put(expected, cycle, ports.outputs, BAD, line_rate.bad_entries(state))
    put(expected, cycle, ports.outputs, OUT_BLOCKS, state.regs[line_rate.LAST_BLOCKS])


SHOW[golden.State], NOTE[golden.State] = _show, _note
SHOW[line_rate.State], NOTE[line_rate.State] = _show_line_rate, note_nothing


class _Form(NamedTuple):
    """Golden module of a form, and the rules that a table can reach."""

    module: Any
    applicable: Callable[..., frozenset[str]]


_FORMS = {"exact": _Form(golden, applicable_rules), "line_rate": _Form(line_rate, line_rate.applicable_rules)}


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
        module = _FORMS[form].module
        del parity  # golden has no upsets, and outputs that are not written are 0
        super().__init__(
            state=module.make_state(data_vls=data_vls, entries=entries, vl15=vl15),
            data_vls=data_vls,
            vl15=vl15,
            phases=phases,
            rules=module.RULES,
            outputs_beside=_OUTPUTS,
            seed=seed,
            inputs=inputs,
            outputs=outputs,
            fields=_FIELDS,
            writes=np.array([table.padded(entries) for table in tables], np.int64),
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
    """Return the stimulus that qualifies an arbiter: it reaches every rule and every corner.

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
    """Return the stimulus of a table whose entries all have weight 1 and name the lanes in order, in both lists."""
    listed = tuple(VLArbEntry(index % parameters["data_vls"], 1) for index in range(parameters["entries"]))
    return planned(parameters, [VLArbTable(listed, listed, 1)], phases, seed=seed, inputs=inputs, outputs=outputs)


def drawn_writes(lanes: int, entries: int, source: random.Random) -> list[Write]:
    """Return the writes of a random table for a switch's output. With enough entries it serves every lane."""
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
    """Return the stimulus of a plan, with the rules that its tables can reach."""
    traffic = VLArbTraffic(**parameters, tables=tables, phases=phases, seed=seed, inputs=inputs, outputs=outputs)
    applicable = _FORMS[parameters.get("form", "exact")].applicable
    traffic.applicable = frozenset(
        name
        for table in tables
        for name in applicable(table, data_vls=parameters["data_vls"], has_vl15=parameters["vl15"])
    )
    return traffic
