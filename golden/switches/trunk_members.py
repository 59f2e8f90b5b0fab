"""Random choice among the members of a trunk, the cables between two switches (NET-6 of ``docs/network.md``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError
from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.switches.packets import Packets

CHOICES = ("lid", "flow", "packet")
"""Ways of choosing a member: by the forwarding table, at random for each flow, or at random for each packet."""

_WORD = 0xFFFF_FFFF
_ONE, _OTHER = 0x21F0_AAAD, 0x735A_2D97
"""Multipliers of a 32-bit hash by C. Wellons (hash-prospector). Products fit into 63 bits."""


class TableChoice(NamedTuple):
    """Choice by the forwarding table.

    Parameters
    ----------
    seed : int
        0, because a NamedTuple of a kernel has a field.
    """

    seed: int = 0


class RandomChoice(NamedTuple):
    """Random choice.

    Parameters
    ----------
    seed : int
        Seed of the run.
    by_packet : bool
        Draw for each packet, otherwise for each flow.
    first : array of int32, (all ports,)
        Index in ``port`` of the first member of each port's trunk.
    size : array of int32, (all ports,)
        Number of members of each port's trunk.
    port : array of int32, (members,)
        Ports of the members within their switch, in ascending order.
    """

    seed: int
    by_packet: bool
    first: NDArray[np.int32]
    size: NDArray[np.int32]
    port: NDArray[np.int32]


def new_members(topology: Any, port_bits: int, choice: str, seed: int) -> TableChoice | RandomChoice:
    """Return the choice among the members of all trunks.

    Raises
    ------
    InputError
        If the choice is not one of ``CHOICES``.
    """
    if choice not in CHOICES:
        raise InputError("trunk_choice", f"one of {', '.join(CHOICES)}", choice)
    if choice == "lid":
        return TableChoice()
    total, far = topology.switches << port_bits, topology.far_ends()
    trunks: dict[tuple[int, int], list[int]] = {}
    for (switch, port), (other, _) in sorted(far.items()):
        trunks.setdefault((switch, other), []).append(port)
    first, count, members = np.zeros(total, np.int32), np.ones(total, np.int32), [0]
    for (switch, _), ports in trunks.items():
        if len(ports) > 1:
            at = [(switch << port_bits) + port for port in ports]
            first[at], count[at] = len(members), len(ports)
            members += ports
    return RandomChoice(seed, choice == "packet", first, count, np.array(members, np.int32))


@inner
def hash_step(state: int, part: int) -> int:
    """Return a 32-bit hash of a state and the low 32 bits of a number."""
    word = (state ^ part) & _WORD
    word = ((word ^ (word >> 16)) * _ONE) & _WORD
    word = ((word ^ (word >> 15)) * _OTHER) & _WORD
    return word ^ (word >> 15)


@inner
def _at_random(
    trunk_members: RandomChoice,
    packets: Packets,
    packet: int,
    switch: int,
    first_port: int,
    port: int,
    output: int,
    cycle: int,
) -> int:
    """Draw a member by switch, input and cycle of arrival, or by switch, source, DLID and SL."""
    count = int(trunk_members.size[first_port + output])
    if count == 1:
        return output
    word = hash_step(hash_step(0, trunk_members.seed), switch)
    if trunk_members.by_packet:
        word = hash_step(hash_step(word, port), cycle)
    else:
        field = packets.pool[packet]
        word = hash_step(hash_step(hash_step(word, int(packets.origin[packet].source)), int(field.dlid)), int(field.sl))
    return int(trunk_members.port[trunk_members.first[first_port + output] + (word * count >> 32)])


@by_type({RandomChoice: _at_random}, default=True)
def drawn_member(
    trunk_members: Any, packets: Packets, packet: int, switch: int, first_port: int, port: int, output: int, cycle: int
) -> int:
    """Return the output of a packet whose head reached an input in a cycle, a member of the trunk of ``output``.

    Parameters
    ----------
    first_port : int
        Number of the switch's first port among all ports.
    port : int
        Input within the switch.
    output : int
        Output within the switch, from the forwarding table.
    cycle : int
        Cycle in which the head arrived.
    """
    return output


@inner
def _random_member_count(trunk_members: RandomChoice, link_end: int) -> int:
    return int(trunk_members.size[link_end])


@by_type({RandomChoice: _random_member_count}, default=True)
def member_count(trunk_members: Any, link_end: int) -> int:
    """Return the number of ports among which a packet whose table names port ``link_end`` is drawn."""
    return 1


@inner
def _random_member_port(trunk_members: RandomChoice, link_end: int, member_index: int) -> int:
    return int(trunk_members.port[trunk_members.first[link_end] + member_index])


@by_type({RandomChoice: _random_member_port}, default=True)
def member_port(trunk_members: Any, link_end: int, member_index: int) -> int:
    """Return member ``member_index`` of a trunk of several members, a port within its switch."""
    return 0
