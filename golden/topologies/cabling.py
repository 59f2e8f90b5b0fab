"""Cables of a network: ends, flight time and rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import new_records
from vlane.golden.switches.inputs import port_bits_for
from vlane.golden.switches.output_ports import FULL_PACE
from vlane.golden.topologies.routing import ChannelRoutes, Routes
from vlane.golden.topologies.topology import End, Topology
from vlane.golden.topologies.wiring import NOWHERE, Cable, Wiring, end_of_nic


@dataclass(frozen=True)
class CableForm:
    """A cable that differs from the default.

    Parameters
    ----------
    flight_cycles : int
        Flight time in cycles, 1 to 64.
    pace : int
        Time of a flit in 1/65536 cycle, at least 65536 (NET-5 of ``docs/network.md``).
    """

    flight_cycles: int
    pace: int = FULL_PACE


def new_wiring(
    topology: Topology,
    routes: Routes | ChannelRoutes,
    end_count: int,
    flight: int,
    forms: Mapping[End, CableForm],
    *,
    with_fcps: bool,
) -> Wiring:
    """Return the cables of ``end_count`` sending ports, with a default flight time.

    ``forms`` are the cables that differ from the default, by the (switch, port) of one end. With flow-control
    packets, freed input space is reported to the sending port at the same end of the cable.
    """
    bits = port_bits_for(topology.ports)
    inputs = topology.switches << bits
    cable = new_records(Cable, end_count)
    far_end, credit_receiver, peer = (cable[name] for name in ("far_input", "credit_receiver", "peer"))
    far_end[:] = credit_receiver[:] = peer[:] = NOWHERE
    for (switch, port), (other, other_port) in topology.far_ends().items():
        far_end[(switch << bits) + port] = (other << bits) + other_port
        credit_receiver[(other << bits) + other_port] = (switch << bits) + port
        peer[(switch << bits) + port] = (other << bits) + other_port
    for host, (switch, port) in enumerate(topology.hosts):
        at = (switch << bits) + port
        far_end[at], far_end[inputs + host] = end_of_nic(host), at
        credit_receiver[at], credit_receiver[inputs + host] = inputs + host, at
        peer[at], peer[inputs + host] = inputs + host, at
    cable["flight_cycles"] = cable["credit_delay"] = flight
    for end, form in _forms_of_ends(topology, forms).items():
        cable["flight_cycles"][end] = cable["credit_delay"][end] = form.flight_cycles
    if with_fcps:
        credit_receiver[:] = np.arange(end_count)
        cable["credit_delay"] = 0
    return Wiring(cable, routes.nic_vl, routes.nic_channel)


def paces_of_ends(topology: Topology, end_count: int, forms: Mapping[End, CableForm]) -> NDArray[np.int64]:
    """Return the pace of every sending port, an empty array if every link carries a flit per cycle."""
    if all(form.pace == FULL_PACE for form in forms.values()):
        return np.zeros(0, np.int64)
    paces = np.full(end_count, FULL_PACE, np.int64)
    for end, form in _forms_of_ends(topology, forms).items():
        paces[end] = form.pace
    return paces


def _forms_of_ends(topology: Topology, forms: Mapping[End, CableForm]) -> dict[int, CableForm]:
    """Return the form at both ends of every cable that differs from the default."""
    bits, far_end, made = port_bits_for(topology.ports), topology.far_ends(), {}
    hosts = {end: host for host, end in enumerate(topology.hosts)}
    for (switch, port), form in forms.items():
        made[(switch << bits) + port] = form
        if (switch, port) in hosts:
            made[(topology.switches << bits) + hosts[switch, port]] = form
        else:
            other, other_port = far_end[switch, port]
            made[(other << bits) + other_port] = form
    return made
