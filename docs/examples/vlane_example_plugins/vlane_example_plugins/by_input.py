"""A routing that separates packets by input port: packets from odd ports use the second VL of their SL."""

from __future__ import annotations

import vlane

_DROPPED = 15


@vlane.routing("by_input", vls_per_sl=2)
def by_input(topology: vlane.Topology, vl_of_sl: tuple[int, ...]) -> vlane.Routes:
    """Return up*/down* paths. A VL is the first one of its SL, plus 1 if the input port is odd."""
    made = vlane.up_down(topology, vl_of_sl)
    vl = made.vl.copy()
    for port in range(topology.ports):
        for first in (each for each in vl_of_sl if each != _DROPPED):
            vl[:, port, :, first : first + 2] = first + port % 2
    return vlane.Routes(made.lft, vl, made.nic_vl, made.lids, by_lane=True)
