"""Oracles of the egress schedulers: one kernel for all, with scheduler-specific ports in ``oracle_NAME.py``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.egress import ListCode
from vlane.golden.engine.kernel import by_type, inner, kernel
from vlane.golden.oracle.oracle import Oracle
from vlane.golden.oracle.own_ports import STALE, SpecificPorts
from vlane.golden.oracle.ports import RESET, Placing, Port, places, ports_of
from vlane.golden.oracle.words import clear, read, read_each, write, write_array, write_each
from vlane.golden.schedulers.bank import is_swapping, step, uses_second_packets
from vlane.golden.schedulers.by_name import MODULES, module_of
from vlane.golden.schedulers.heads import NO_LANE, Heads
from vlane.schedulers.registry import SCHEDULERS
from vlane.units import MAX_PACKET_BLOCKS

(RST, REQUEST, FITS, READY, HOLD, ENABLE, SELECT, INDEX, NAME, WEIGHT, SWAP, BEHIND) = range(12)
"""Indices of the inputs that several schedulers have."""

INPUTS = 12
"""Number of the inputs that several schedulers have."""

(_GRANT, _VL, _LIST, _BLOCKS) = range(4)
_VL15 = 15
_BLOCK_BITS = MAX_PACKET_BLOCKS.bit_length()
_PACKED_VLS = 16
"""Maximum number of lanes with a VL of four bits."""

_OWN = {name: import_module(f"vlane.golden.oracle.oracle_{name}") for name in SCHEDULERS}


class EgressMachine(NamedTuple):
    """A scheduler behind its ports.

    Parameters
    ----------
    state : NamedTuple
        State of the golden scheduler.
    data_vls : int
        Number of data lanes.
    lanes : int
        Number of all lanes.
    input_fields, output_fields : array of int64, (elements, 6)
        Bit positions of the ports common to all schedulers.
    size_fields : array of int64, (lanes, 6)
        Bit positions of the sizes of heads.
    second_size_fields : array of int64, (lanes, 6)
        Bit positions of the sizes of packets behind the heads; empty without that input.
    specific_input_fields, specific_output_fields : array of int64, (elements, 6)
        Bit positions of the scheduler's own ports, except those for packets behind the heads.
    input_values : array of int64, (INPUTS,)
        Scratch of a cycle: the inputs common to all schedulers.
    blocks : array of int64, (lanes + 1,)
        Scratch of a cycle: sizes of heads, and a spare entry that is 0.
    behind_blocks : array of int64, (lanes + 1,)
        Scratch of a cycle: sizes of packets behind the heads, and a spare entry that is 0.
    specific_inputs : array of int64
        Scratch of a cycle: the scheduler's own inputs.
    table_outputs : array of int64, (3,)
        Outputs that depend on the tables, kept until the tables change.
    has_swaps : bool
        Whether the tables change by an exchange only.
    rules : array of int64
        Rule counters.
    """

    state: Any
    data_vls: int
    lanes: int
    input_fields: NDArray[np.int64]
    output_fields: NDArray[np.int64]
    size_fields: NDArray[np.int64]
    second_size_fields: NDArray[np.int64]
    specific_input_fields: NDArray[np.int64]
    specific_output_fields: NDArray[np.int64]
    input_values: NDArray[np.int64]
    blocks: NDArray[np.int64]
    behind_blocks: NDArray[np.int64]
    specific_inputs: NDArray[np.int64]
    table_outputs: NDArray[np.int64]
    has_swaps: bool
    rules: NDArray[np.int64]


@by_type({module.State: module.reset for module in MODULES})
def reset(state: Any) -> None:
    """Reset a scheduler."""


@by_type({state: write for module in _OWN.values() for state, write in module.SHOW.items()}, default=True)
def write_specific_outputs(
    state: Any,
    specific_inputs: NDArray[np.int64],
    table_outputs: NDArray[np.int64],
    output_words: NDArray[np.uint64],
    output_fields: NDArray[np.int64],
) -> None:
    """Write the scheduler's own outputs, from the state before the clock edge."""


@kernel
def cycle(machine: EgressMachine, input_words: NDArray[np.uint64], output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle."""
    read_each(input_words, machine.input_fields, 0, machine.input_values)
    for lane in range(len(machine.size_fields)):
        machine.blocks[lane] = read(input_words, machine.size_fields, lane)
    for lane in range(len(machine.second_size_fields)):
        machine.behind_blocks[lane] = read(input_words, machine.second_size_fields, lane)
    read_each(input_words, machine.specific_input_fields, 0, machine.specific_inputs)
    run_scheduler(machine, output_words)


@inner
def run_scheduler(machine: EgressMachine, output_words: NDArray[np.uint64]) -> tuple[int, int]:
    """Run a clock cycle with the inputs in ``machine``, and return the granted lane and its list.

    A program-port write in the cycle of a reset is ignored. The lane is ``NO_LANE`` if no packet may start.
    """
    state, seen, outs, kept = machine.state, machine.input_values, machine.output_fields, machine.table_outputs
    clear(output_words)
    write_specific_outputs(state, machine.specific_inputs, kept, output_words, machine.specific_output_fields)
    resets = seen[RST] != 0
    changes = seen[SWAP] != 0 or is_swapping(state) if machine.has_swaps else seen[ENABLE] != 0
    kept[STALE] = resets or changes or uses_second_packets(state)
    heads = Heads(seen[REQUEST], seen[FITS], machine.blocks, seen[BEHIND], machine.behind_blocks)
    program = (0 if resets else seen[ENABLE], seen[SELECT], seen[INDEX], seen[NAME], seen[WEIGHT])
    if uses_second_packets(state):
        write(output_words, outs, _BLOCKS, last_blocks(state))
    lane, source, granted = step(
        state, heads, seen[READY] != 0, seen[HOLD] != 0, program, seen[SWAP] != 0, machine.rules
    )
    write(output_words, outs, _GRANT, granted)
    if lane >= 0:
        write(output_words, outs, _VL, vl_of(machine.data_vls, machine.lanes, lane))
        write(output_words, outs, _LIST, source)
        if not uses_second_packets(state):
            write(output_words, outs, _BLOCKS, machine.blocks[lane])
    if resets:
        reset(state)
    return (lane if granted else NO_LANE), source


@inner
def put_scheduler(machine: EgressMachine, input_words: NDArray[np.uint64]) -> None:
    """Write the inputs of a cycle, in ``machine``, to words."""
    clear(input_words)
    write_each(input_words, machine.input_fields, 0, machine.input_values)
    write_array(input_words, machine.size_fields, machine.blocks)
    if len(machine.second_size_fields):
        write_array(input_words, machine.second_size_fields, machine.behind_blocks)
    write_each(input_words, machine.specific_input_fields, 0, machine.specific_inputs)


def _blocks_before(place: int) -> Any:
    """Return the function that reads the size granted in the previous cycle, an output of line-rate forms."""

    @inner
    def blocks_before(state: Any) -> int:
        return int(state.regs[place])

    return blocks_before


@by_type({each.State: _blocks_before(each.LAST_BLOCKS) for each in MODULES if each.LOOKS_BEHIND}, default=True)
def last_blocks(state: Any) -> int:
    """Return the size granted in the previous cycle, 0 for none."""
    return 0


@inner
def vl_of(data_vls: int, lanes: int, lane: int) -> int:
    """Return the VL of a lane. In ports with VL15, data lanes from 15 on have a VL one higher."""
    if lanes > data_vls:
        if lane == data_vls:
            return _VL15
        return lane + (lane >= _VL15)
    return lane


def own_ports_of(name: str, parameters: Mapping[str, Any]) -> SpecificPorts:
    """Return the ports that a scheduler has in addition to the common ones."""
    found: SpecificPorts = _OWN[name].own_ports(parameters)
    return found


def scheduler_oracle(name: str, parameters: Mapping[str, Any], place: Placing = ports_of) -> Oracle:
    """Return the oracle of an egress scheduler.

    Parameters
    ----------
    name : str
        Name in the scheduler registry.
    parameters : mapping
        Validated parameters of the component.
    place : callable
        Function that gives the ports their positions.
    """
    module = module_of(name, parameters.get("form", ""))
    data_vls, own = parameters["data_vls"], own_ports_of(name, parameters)
    lanes = data_vls + parameters["vl15"]
    program = (Port("program__enable", 1, 1, "Write in this cycle."), *own.program) if own.program else ()
    swap = Port("swap", 1, 1, "Request an exchange of the tables in the first ready cycle, possibly this one.")
    inputs = place(*_inputs(lanes), *program, *((swap,) if SCHEDULERS[name].swaps else ()), *own.inputs)
    outputs = place(*_outputs(lanes), *own.outputs)
    fields = [port.name for port in program] or [""] * (SWAP - ENABLE)
    own_ins = places(inputs, [port.name for port in own.inputs if not port.name.startswith("behind")])
    machine = EgressMachine(
        state=module.make_state(**parameters),
        data_vls=data_vls,
        lanes=lanes,
        input_fields=places(
            inputs, ["rst", "heads__request", "heads__fits", "ready", "hold_data", *fields, "swap", "behind"]
        ),
        output_fields=places(outputs, ["grant", "vl", "from_list", "blocks"]),
        size_fields=places(inputs, ["heads__blocks"]),
        second_size_fields=places(inputs, [port.name for port in inputs if port.name == "behind_blocks"]),
        specific_input_fields=own_ins,
        specific_output_fields=places(outputs, [port.name for port in own.outputs]),
        input_values=np.zeros(INPUTS, np.int64),
        blocks=np.zeros(lanes + 1, np.int64),
        behind_blocks=np.zeros(lanes + 1, np.int64),
        specific_inputs=np.zeros(len(own_ins), np.int64),
        table_outputs=np.array([1, 0, 0], np.int64),
        has_swaps=SCHEDULERS[name].swaps,
        rules=np.zeros(module.RULE_COUNT, np.int64),
    )
    return Oracle(machine, cycle, inputs, outputs, module.RULES)


def _inputs(lanes: int) -> tuple[Port, ...]:
    """Return the inputs common to all schedulers."""
    return (
        RESET,
        Port("heads__request", lanes, 1, "Bit per lane, VL15 last: the lane has a head packet."),
        Port("heads__fits", lanes, 1, "Bit per lane: the next node has space for the whole head packet."),
        Port("heads__blocks", _BLOCK_BITS, lanes, "Size of the head packet of each lane, 1 to 66 blocks of 64 bytes."),
        Port("ready", 1, 1, "A new packet may start."),
        Port("hold_data", 1, 1, "A flow-control packet is due: only VL15 may send."),
    )


def _outputs(lanes: int) -> tuple[Port, ...]:
    """Return the outputs common to all schedulers."""
    return (
        Port("grant", 1, 1, "A packet may start; it starts if ready is 1 in the same cycle."),
        Port("vl", 4 if lanes <= _PACKED_VLS else 5, 1, "Lane that the decision names, 15 for VL15; 0 for none."),
        Port("from_list", 2, 1, "List that the lane was chosen from.", ListCode),
        Port("blocks", _BLOCK_BITS, 1, "Size of that lane's head; in line-rate forms the size granted a cycle before."),
    )
