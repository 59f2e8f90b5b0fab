"""A network divided into parts for several cores: who has which switch, and the state of each part."""

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
from vlane.golden.network.network import Network
from vlane.golden.network.pacing import Pacing
from vlane.golden.network.parts import OWNED, PacketLetter, Part, RoomLetter
from vlane.golden.switches.inputs import ROUTED
from vlane.golden.switches.packets import Packets, free_packets, set_free
from vlane.golden.traffic.classes import NEVER

MOST_PARTS = 64


def check_parts(parts: int, switches: int, *, by_fcps: bool, with_congestion: bool) -> None:
    """Refuse parts that a network of so many switches cannot have.

    Parameters
    ----------
    by_fcps : bool
        Whether flow-control packets tell of room: the state of those under way is of both ends, so one part has all.
    with_congestion : bool
        Whether there is congestion control.

    Raises
    ------
    InputError
        If there are more than switches, or than 1 with flow-control packets or congestion control.
    """
    most = min(MOST_PARTS, switches)
    if not 1 <= parts <= most:
        raise InputError("cores", f"1 to {most} for a network of {switches} switches", parts)
    if parts > 1 and by_fcps:
        raise InputError("cores", "1 with flow-control packets (several cores need link.credits = returns)", parts)
    if parts > 1 and with_congestion:
        raise InputError("cores", "1 with congestion control", parts)


def owners_of(net: Network, parts: int) -> NDArray[np.uint8]:
    """Return the part of each end of a network.

    Switches as far from the nearest NIC are divided evenly, in the order of their numbers, so that every part has as
    much of each level of a tree, and a slab of a torus. NICs go with their switch.
    """
    bits, far = net.switches.inputs.port_bits, net.wiring.cable["far"]
    inputs = len(net.switches.inputs.port)
    switches = inputs >> bits
    at = far[inputs : inputs + len(net.staged)] >> bits  # switch of each NIC
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


def divide(net: Network, packets: Packets, parts: int) -> list[tuple[Network, Packets]]:
    """Return the parts of a network before its first cycle, each with its packets; they share its state.

    Raises
    ------
    InputError
        As of ``check_parts``.
    """
    inputs = net.switches.inputs
    check_parts(
        parts,
        len(inputs.port) >> inputs.port_bits,
        by_fcps=fcp_period(net.out_ports.remote) != 0,
        with_congestion=isinstance(net.pacing, Pacing),
    )
    if net.clock[NOW] != 0:
        raise ValueError("only a network before its first cycle is divided")
    owner = owners_of(net, parts)
    far, flight = net.wiring.cable["far"][: len(inputs.port)], net.wiring.cable["flight"][: len(inputs.port)]
    writes, reads = owner[: len(far)], owner[np.maximum(far, 0)]
    is_cut = (far >= 0) & (writes != reads)
    window = int(flight[is_cut].min(initial=64)) + ROUTED
    between = np.zeros((parts, parts), np.int64)
    np.add.at(between, (writes[is_cut], reads[is_cut]), 1)
    letters = window * int(between.max(initial=1))
    packet_letters = new_records(PacketLetter, 2 * parts * parts, letters)
    room_letters = new_records(RoomLetter, 2 * parts * parts, letters * net.out_ports.returns.rows)
    count, said = np.zeros((2 * parts * parts, 8), np.int64), np.zeros((2 * parts, 8), np.int64)
    barrier = new_barrier()
    pools = _shared_pool(packets, parts)
    made = []
    for number in range(parts):
        of_part = owner[len(far) : len(far) + len(net.staged)] == number
        own = np.zeros(8, np.int64)
        own[OWNED] = len(free_packets(pools[number]))
        border = Part(
            number, parts, window, int(of_part.sum()), owner, packet_letters, room_letters, count, said, barrier, own
        )
        made.append((_part_of(net, border, of_part), pools[number]))
    return made


def _shared_pool(packets: Packets, parts: int) -> list[Packets]:
    """Return a pool for each part: the packets are the same, each part has its calendar and its free ones."""
    pools = []
    for share in np.array_split(np.arange(len(packets.pool)), parts):
        pools.append(packets._replace(slot=packets.slot.copy(), regs=np.zeros_like(packets.regs)))
        set_free(pools[-1], share)
    return pools


def _part_of(net: Network, border: Part, nics: NDArray[np.bool_]) -> Network:
    """Return a part: the state of its ends is the network's, what is kept within a cycle or of all ends is its own."""
    out_ports, returns = net.out_ports, net.out_ports.returns
    own_returns = returns._replace(at_once=_copied(returns.at_once), coming=returns.coming.copy())
    return net._replace(
        switches=_own_scratch(net.switches),
        out_ports=out_ports._replace(returns=own_returns, sizes=out_ports.sizes.copy()),
        sources=net.sources._replace(earliest=np.where(nics, net.sources.earliest, NEVER)),
        meters=_own_meters(net.meters),
        awake=net.awake.copy(),
        busy=net.busy.copy(),
        grants=_copied(net.grants),
        clock=net.clock.copy(),
        border=border,
    )


def _copied(records: Any) -> Any:
    return records.held_in(records.array.copy())


def _own_scratch(switches: Any) -> Any:
    """Return switches with arrays of their own, but for tables and queues, whose rows are of one part each."""
    arrays = {
        name: value.copy()
        for name, value in switches._asdict().items()
        if isinstance(value, np.ndarray) and value.dtype == np.int64
    }
    waiting = switches.inputs.waiting.copy()
    return switches._replace(inputs=switches.inputs._replace(waiting=waiting), **arrays)


def _own_meters(meters: Meters) -> Meters:
    """Return meters of a part; flows and connections are common: each count is one part's."""
    common = {name for name in meters._fields if name.startswith("flow")} | {"connections"}
    own = {name: getattr(meters, name).copy() for name in meters._fields if name not in common}
    return meters._replace(**own)
