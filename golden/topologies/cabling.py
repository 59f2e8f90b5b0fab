"""Cables of a network: what is plugged into what, how long each is, and how fast."""

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
from vlane.golden.topologies.wiring import NOWHERE, Cable, Wiring


@dataclass(frozen=True)
class CableForm:
    """A cable that is not as all others.

    Parameters
    ----------
    flight : int
        Cycles from one end to the other, 1 to 64.
    pace : int
        65536ths of a cycle that a flit takes, at least 65536 (rule NET-5 of ``docs/network.md``).
    """

    flight: int
    pace: int = FULL_PACE


def wire(
    topology: Topology,
    routes: Routes | ChannelRoutes,
    ends: int,
    flight: int,
    forms: Mapping[End, CableForm],
    *,
    by_fcps: bool,
) -> Wiring:
    """Return the cables of so many ends; with flow-control packets an end keeps count of the room beside it.

    ``forms`` are those of the cables that are not as the others, by the (switch, port) of an end.
    """
    bits = port_bits_for(topology.ports)
    inputs = topology.switches << bits
    cable = new_records(Cable, ends)
    far, told, peer = (cable[name] for name in ("far", "told", "peer"))
    far[:] = told[:] = peer[:] = NOWHERE
    for (switch, port), (other, other_port) in topology.far_ends().items():
        far[(switch << bits) + port] = (other << bits) + other_port
        told[(other << bits) + other_port] = (switch << bits) + port
        peer[(switch << bits) + port] = (other << bits) + other_port
    for host, (switch, port) in enumerate(topology.hosts):
        at = (switch << bits) + port
        far[at], far[inputs + host] = -1 - host, at
        told[at], told[inputs + host] = inputs + host, at
        peer[at], peer[inputs + host] = inputs + host, at
    cable["flight"] = cable["telling"] = flight
    for end, form in _forms_of_ends(topology, forms).items():
        cable["flight"][end] = cable["telling"][end] = form.flight
    if by_fcps:
        told[:] = np.arange(ends)
        cable["telling"] = 0
    return Wiring(cable, routes.nic_vl, routes.nic_channel)


def paces_of_ends(topology: Topology, ends: int, forms: Mapping[End, CableForm]) -> NDArray[np.int64]:
    """Return the pace of every sending end; empty if all carry a flit a cycle."""
    if all(form.pace == FULL_PACE for form in forms.values()):
        return np.zeros(0, np.int64)
    paces = np.full(ends, FULL_PACE, np.int64)
    for end, form in _forms_of_ends(topology, forms).items():
        paces[end] = form.pace
    return paces


def _forms_of_ends(topology: Topology, forms: Mapping[End, CableForm]) -> dict[int, CableForm]:
    """Return the form of both ends of every cable that is not as the others."""
    bits, far, made = port_bits_for(topology.ports), topology.far_ends(), {}
    hosts = {end: host for host, end in enumerate(topology.hosts)}
    for (switch, port), form in forms.items():
        made[(switch << bits) + port] = form
        if (switch, port) in hosts:
            made[(topology.switches << bits) + hosts[switch, port]] = form
        else:
            other, other_port = far[switch, port]
            made[(other << bits) + other_port] = form
    return made
