"""Division of a network into parts for several cores: owner of each port, and the state of each part."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError
from vlane.golden.compiler.records import new_records
from vlane.golden.engine.barrier import new_barrier
from vlane.golden.links.remote_credit import fcp_period
from vlane.golden.network.clock import NOW
from vlane.golden.network.meters import Meters
from vlane.golden.network.pacing import Pacing
from vlane.golden.network.parts import OWNED, CreditMail, PacketMail, Part
from vlane.golden.network.state import Network
from vlane.golden.switches.inputs import ROUTED
from vlane.golden.switches.packets import Packets, free_packets, set_free
from vlane.golden.traffic.classes import NEVER

MOST_PARTS = 64


def check_parts(
    parts: int, switches: int, *, with_fcps: bool, with_congestion: bool, with_messages: bool = False
) -> None:
    """Reject a number of parts that the network does not support.

    Parameters
    ----------
    with_fcps : bool
        Credits use flow-control packets. FCPs in flight belong to both ends of a cable, so only one part is supported.
    with_congestion : bool
        Congestion control is on.
    with_messages : bool
        Traffic consists of messages, whose records belong to source and destination.

    Raises
    ------
    InputError
        If there are more parts than switches or 64, or more than one with flow-control packets, congestion control or
        messages.
    """
    most = min(MOST_PARTS, switches)
    if not 1 <= parts <= most:
        raise InputError("cores", f"1 to {most} for a network of {switches} switches", parts)
    if parts > 1 and with_fcps:
        raise InputError("cores", "1 with flow-control packets (several cores need link.credits = returns)", parts)
    if parts > 1 and with_congestion:
        raise InputError("cores", "1 with congestion control", parts)
    if parts > 1 and with_messages:
        problem = (
            f": {parts} cores cannot share a network whose traffic consists of messages; use --cores 1, and --jobs"
        )
        raise InputError("cores", "1 with messages", parts, problem=problem)


def part_of_each_port(network: Network, parts: int) -> NDArray[np.uint8]:
    """Return the part of each port of a network.

    Switches at equal distance from the nearest NIC are divided evenly in the order of their numbers. Each part
    receives an equal share of each level of a tree, or a slab of a torus. NICs belong to the part of their switch.
    """
    bits, far = network.switches.inputs.port_bits, network.wiring.cable["far_input"]
    inputs = len(network.switches.inputs.port)
    switches = inputs >> bits
    at = far[inputs : inputs + len(network.staged_packets)] >> bits  # switch of each NIC
    ends = np.flatnonzero(far[:inputs] >= 0)
    one, other = ends >> bits, far[ends] >> bits
    distance = np.full(switches, switches)
    distance[at] = 0
    for step in range(1, switches):
        reached = np.unique(other[distance[one] == step - 1])
        new = reached[distance[reached] == switches]
        if not len(new):
            break
        distance[new] = step
    owner = np.zeros(switches, np.uint8)
    for step in np.unique(distance):
        layer = np.flatnonzero(distance == step)
        owner[layer] = np.arange(len(layer)) * parts // len(layer)
    of_nics = np.zeros(len(far) - inputs, np.uint8)
    of_nics[: len(at)] = owner[at]
    return np.concatenate([np.repeat(owner, 1 << bits), of_nics])


def divide(network: Network, packets: Packets, parts: int) -> list[tuple[Network, Packets]]:
    """Return the parts of a network before its first cycle, each with its packets.

    The parts share the network's state.

    Raises
    ------
    InputError
        If the number of parts is not supported (``check_parts``).
    ValueError
        If the network has run a cycle.
    """
    inputs = network.switches.inputs
    check_parts(
        parts,
        len(inputs.port) >> inputs.port_bits,
        with_fcps=fcp_period(network.out_ports.remote_credit) != 0,
        with_congestion=isinstance(network.pacing, Pacing),
        with_messages=network.sources.mtu != 0,
    )
    if network.clock[NOW] != 0:
        raise ValueError("only a network before its first cycle is divided")
    owner = part_of_each_port(network, parts)
    far, flight = (
        network.wiring.cable["far_input"][: len(inputs.port)],
        network.wiring.cable["flight_cycles"][: len(inputs.port)],
    )
    writes, reads = owner[: len(far)], owner[np.maximum(far, 0)]
    returns = network.out_ports.returns
    is_cut = (far >= 0) & (writes != reads)
    window = int(flight[is_cut].min(initial=64)) + ROUTED
    between = np.zeros((parts, parts), np.int64)
    np.add.at(between, (writes[is_cut], reads[is_cut]), 1)
    letters = window * int(between.max(initial=1))
    packet_letters = new_records(PacketMail, 2 * parts * parts, letters)
    credit_letters = new_records(CreditMail, 2 * parts * parts, letters * returns.rows * returns.most_per_cycle)
    count, published = np.zeros((2 * parts * parts, 8), np.int64), np.zeros((2 * parts, 8), np.int64)
    barrier = new_barrier()
    pools = _shared_pool(packets, parts)
    made = []
    for number in range(parts):
        of_part = owner[len(far) : len(far) + len(network.staged_packets)] == number
        part_state = np.zeros(8, np.int64)
        part_state[OWNED] = len(free_packets(pools[number]))
        border = Part(
            number,
            parts,
            window,
            int(of_part.sum()),
            owner,
            packet_letters,
            credit_letters,
            count,
            published,
            barrier,
            part_state,
        )
        made.append((_make_part(network, border, of_part), pools[number]))
    return made


def _shared_pool(packets: Packets, parts: int) -> list[Packets]:
    """Return a view of the pool for each part, with a calendar and free packets of its own."""
    pools = []
    for share in np.array_split(np.arange(len(packets.pool)), parts):
        pools.append(packets._replace(slot=packets.slot.copy(), regs=np.zeros_like(packets.regs)))
        set_free(pools[-1], share)
    return pools


def _make_part(network: Network, partition: Part, nics: NDArray[np.bool_]) -> Network:
    """Return a part: per-port state is shared with the network, scratch and global state are copied."""
    out_ports, returns = network.out_ports, network.out_ports.returns
    own_returns = returns._replace(immediate=_copy_records(returns.immediate), list_lengths=returns.list_lengths.copy())
    return network._replace(
        switches=_copy_scratch(network.switches),
        out_ports=out_ports._replace(returns=own_returns, sizes=out_ports.sizes.copy()),
        sources=network.sources._replace(earliest=np.where(nics, network.sources.earliest, NEVER)),
        meters=_copy_meters(network.meters),
        awake=network.awake.copy(),
        awake_ports=network.awake_ports.copy(),
        grants=_copy_records(network.grants),
        clock=network.clock.copy(),
        partition=partition,
    )


def _copy_records(records: Any) -> Any:
    return records.held_in(records.array.copy())


def _copy_scratch(switches: Any) -> Any:
    """Return switches with copies of the scratch arrays.

    Tables and queues stay shared, because each of their rows belongs to one part.
    """
    arrays = {
        name: value.copy()
        for name, value in switches._asdict().items()
        if isinstance(value, np.ndarray) and value.dtype == np.int64
    }
    waiting = switches.inputs.nonempty_inputs.copy()
    return switches._replace(inputs=switches.inputs._replace(nonempty_inputs=waiting), **arrays)


def _copy_meters(meters: Meters) -> Meters:
    """Return meters of a part.

    Counts of flows, connections and messages stay shared, because each count belongs to one part.
    """
    common = {name for name in meters._fields if name.startswith("flow")} | {"connections", "messages"}
    own = {name: getattr(meters, name).copy() for name in meters._fields if name not in common}
    return meters._replace(**own)
