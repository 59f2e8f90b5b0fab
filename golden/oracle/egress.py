"""Egress schedulers as oracles: one kernel for all; ``oracle_NAME`` beside this module has what only one has."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.egress import ListCode
from vlane.golden.engine.kernel import by_type, inner, kernel
from vlane.golden.oracle.oracle import Oracle
from vlane.golden.oracle.own_ports import OwnPorts
from vlane.golden.oracle.ports import RESET, Port, places, ports_of
from vlane.golden.oracle.words import clear, flag, read, write
from vlane.golden.schedulers.bank import looks_behind, step
from vlane.golden.schedulers.by_name import MODULES, module_of
from vlane.golden.schedulers.heads import Heads
from vlane.schedulers.registry import SCHEDULERS
from vlane.units import MAX_PACKET_BLOCKS

(_RST, _REQUEST, _FITS, _READY, _HOLD, _ENABLE, _SELECT, _INDEX, _NAME, _WEIGHT, _SWAP, _BEHIND) = range(12)
(_GRANT, _VL, _LIST, _BLOCKS) = range(4)
_VL15 = 15
_BLOCK_BITS = MAX_PACKET_BLOCKS.bit_length()
_PACKED_VLS = 16
"""Lanes up to which a VL has four bits."""

_OWN = {name: import_module(f"vlane.golden.oracle.oracle_{name}") for name in SCHEDULERS}


class EgressMachine(NamedTuple):
    """A scheduler behind its ports.

    Parameters
    ----------
    state : NamedTuple
        Of the golden scheduler.
    data_vls, lanes : int
        Data lanes, and all lanes.
    ins, outs : array of int64, (elements, 2)
        Places of the inputs and outputs that all schedulers have.
    sizes, behind_sizes : array of int64, (lanes, 2)
        Places of the sizes of heads, and of what is behind them; empty if there is no such input.
    own_ins, own_outs : array of int64, (elements, 2)
        Places of the other ports.
    blocks, behind_blocks : array of int64, (lanes,)
        Within a cycle: those sizes.
    rules : array of int64
        How often each rule happened.
    """

    state: Any
    data_vls: int
    lanes: int
    ins: NDArray[np.int64]
    outs: NDArray[np.int64]
    sizes: NDArray[np.int64]
    behind_sizes: NDArray[np.int64]
    own_ins: NDArray[np.int64]
    own_outs: NDArray[np.int64]
    blocks: NDArray[np.int64]
    behind_blocks: NDArray[np.int64]
    rules: NDArray[np.int64]


@by_type({module.State: module.reset for module in MODULES})
def reset(state: Any) -> None:
    """Return to the state after reset."""


@by_type({state: show for module in _OWN.values() for state, show in module.SHOW.items()})
def show(
    state: Any, given: NDArray[np.uint64], ins: NDArray[np.int64], shown: NDArray[np.uint64], outs: NDArray[np.int64]
) -> None:
    """Write the outputs that only this scheduler has, as they are before the clock rises."""


@kernel
def cycle(machine: EgressMachine, given: NDArray[np.uint64], shown: NDArray[np.uint64]) -> None:
    """Run one clock cycle; a write of the program port in the cycle of a reset is lost."""
    state, ins, outs = machine.state, machine.ins, machine.outs
    clear(shown)
    for lane in range(len(machine.sizes)):
        machine.blocks[lane] = read(given, machine.sizes, lane)
    for lane in range(len(machine.behind_sizes)):
        machine.behind_blocks[lane] = read(given, machine.behind_sizes, lane)
    show(state, given, machine.own_ins, shown, machine.own_outs)
    heads = Heads(
        read(given, ins, _REQUEST),
        read(given, ins, _FITS),
        machine.blocks,
        read(given, ins, _BEHIND),
        machine.behind_blocks,
    )
    resets = flag(given, ins, _RST)
    enable = 1 if flag(given, ins, _ENABLE) and not resets else 0
    program = (
        enable,
        read(given, ins, _SELECT),
        read(given, ins, _INDEX),
        read(given, ins, _NAME),
        read(given, ins, _WEIGHT),
    )
    if looks_behind(state):
        write(shown, outs, _BLOCKS, last_blocks(state))
    lane, source, granted = step(
        state, heads, flag(given, ins, _READY), flag(given, ins, _HOLD), program, flag(given, ins, _SWAP), machine.rules
    )
    write(shown, outs, _GRANT, granted)
    if lane >= 0:
        write(shown, outs, _VL, _vl_of(machine, lane))
        write(shown, outs, _LIST, source)
        if not looks_behind(state):
            write(shown, outs, _BLOCKS, machine.blocks[lane])
    if resets:
        reset(state)


@inner
def _no_blocks(state: Any) -> int:
    return 0


def _blocks_before(module: Any) -> Any:
    """Return the function that tells the size granted a cycle ago, which the forms that look behind heads show."""
    if not module.LOOKS_BEHIND:
        return _no_blocks
    place = module.LAST_BLOCKS

    @inner
    def blocks_before(state: Any) -> int:
        return int(state.regs[place])

    return blocks_before


@by_type({module.State: _blocks_before(module) for module in MODULES})
def last_blocks(state: Any) -> int:
    """Return the size of the grant a cycle ago, 0 if there was none."""


@inner
def _vl_of(machine: EgressMachine, lane: int) -> int:
    """Return the VL of a lane: beside VL15, lanes from 15 on are one VL higher."""
    if machine.lanes > machine.data_vls:
        if lane == machine.data_vls:
            return _VL15
        return lane + (lane >= _VL15)
    return lane


def own_ports_of(name: str, parameters: Mapping[str, Any]) -> OwnPorts:
    """Return the ports of a scheduler beside those that all have."""
    found: OwnPorts = _OWN[name].own_ports(parameters)
    return found


def scheduler_oracle(name: str, parameters: Mapping[str, Any]) -> Oracle:
    """Return the oracle of an egress scheduler.

    Parameters
    ----------
    name : str
        One of the registry.
    parameters : mapping
        Of the component, checked.
    """
    module = module_of(name, parameters.get("form", ""))
    data_vls, own = parameters["data_vls"], own_ports_of(name, parameters)
    lanes = data_vls + parameters["vl15"]
    program = (Port("program__enable", 1, 1, "Write in this cycle."), *own.program) if own.program else ()
    swap = Port("swap", 1, 1, "Requests that the tables are exchanged in the first ready cycle, this one included.")
    inputs = ports_of(*_inputs(lanes), *program, *((swap,) if SCHEDULERS[name].swaps else ()), *own.inputs)
    outputs = ports_of(*_outputs(lanes), *own.outputs)
    fields = [port.name for port in program] or [""] * (_SWAP - _ENABLE)
    machine = EgressMachine(
        state=module.make_state(**parameters),
        data_vls=data_vls,
        lanes=lanes,
        ins=places(inputs, ["rst", "heads__request", "heads__fits", "ready", "hold_data", *fields, "swap", "behind"]),
        outs=places(outputs, ["grant", "vl", "list", "blocks"]),
        sizes=places(inputs, ["heads__blocks"]),
        behind_sizes=places(inputs, [port.name for port in inputs if port.name == "behind_blocks"]),
        own_ins=places(inputs, [port.name for port in own.inputs]),
        own_outs=places(outputs, [port.name for port in own.outputs]),
        blocks=np.zeros(lanes + 1, np.int64),
        behind_blocks=np.zeros(lanes + 1, np.int64),
        rules=np.zeros(module.RULE_COUNT, np.int64),
    )
    return Oracle(machine, cycle, inputs, outputs, module.RULES)


def _inputs(lanes: int) -> tuple[Port, ...]:
    """Return the inputs that every scheduler has."""
    return (
        RESET,
        Port("heads__request", lanes, 1, "A bit per lane, VL15 last: there is a head packet."),
        Port("heads__fits", lanes, 1, "A bit per lane: the next node has room for all of it."),
        Port("heads__blocks", _BLOCK_BITS, lanes, "Its size, 1 to 66 blocks of 64 bytes."),
        Port("ready", 1, 1, "A new packet may start."),
        Port("hold_data", 1, 1, "A flow-control packet is due: only VL15 may win."),
    )


def _outputs(lanes: int) -> tuple[Port, ...]:
    """Return the outputs that every scheduler has."""
    return (
        Port("grant", 1, 1, "A packet may start; it does if ready is 1 in the same cycle."),
        Port("vl", 4 if lanes <= _PACKED_VLS else 5, 1, "Its lane, 15 for VL15; 0 if none is named."),
        Port("list", 2, 1, "The list that it was chosen from.", ListCode),
        Port("blocks", _BLOCK_BITS, 1, "Its size; in a line-rate form that of the grant a cycle ago."),
    )
