"""A dragonfly and its minimal routing.

Kim, Dally, Scott and Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008.

Groups of ``a`` switches are joined all to all within; each switch has ``p`` hosts and ``h`` cables to other groups, and
there are ``a * h + 1`` groups, each joined to every other by one cable.
"""

from __future__ import annotations

from itertools import combinations
from typing import Annotated

import numpy as np
from pydantic import Field

import vlane

_NO_PORT, _DROPPED = 255, 15


@vlane.topology("dragonfly", routing="dragonfly_minimal")
def dragonfly(
    a: Annotated[int, Field(ge=2, le=32)], h: Annotated[int, Field(ge=1, le=16)], p: Annotated[int, Field(ge=1)] = 1
) -> vlane.Topology:
    """Ports of a switch: ``p`` hosts, ``a - 1`` cables within the group, ``h`` cables to other groups."""
    groups, within = a * h + 1, p + a - 1
    cables = []
    for group in range(groups):
        for one, other in combinations(range(a), 2):
            cables.append(((group * a + one, p + other - 1), (group * a + other, p + one)))
        for offset in range(a * h):
            far = (group + offset + 1) % groups
            back = groups - 2 - offset  # the same cable, counted from the other group
            if group < far:
                here = (group * a + offset // h, within + offset % h)
                cables.append((here, (far * a + back // h, within + back % h)))
    hosts = tuple((switch, host) for switch in range(groups * a) for host in range(p))
    shape = {"a": a, "h": h, "p": p}
    return vlane.Topology(f"dragonfly a={a} h={h} p={p}", groups * a, within + h, tuple(cables), hosts, shape)


@vlane.routing("dragonfly_minimal", vls_per_sl=2)
def minimal(topology: vlane.Topology, vl_of_sl: tuple[int, ...]) -> vlane.Routes:
    """Within the group to the switch with the cable, over it, within the other group to the host.

    A packet starts on the first VL of its SL and is on the second one from the cable between groups on, so that no
    circle of waiting links is closed.
    """
    if "h" not in topology.shape:
        raise vlane.InputError(
            "network.routing", "one for this topology; dragonfly_minimal is for a dragonfly", topology.name
        )
    a, h, p = (topology.shape[key] for key in ("a", "h", "p"))
    groups, within = a * h + 1, p + a - 1
    lft = np.full((topology.switches, 1 + len(topology.hosts)), _NO_PORT, np.uint8)
    for switch in range(topology.switches):
        group, own = divmod(switch, a)
        for host, (target, port) in enumerate(topology.hosts):
            far, there = divmod(target, a)
            offset = (far - group - 1) % groups
            at = there if far == group else offset // h  # the switch of this group that the packet goes to
            if target == switch:
                lft[switch, 1 + host] = port
            elif at != own:
                lft[switch, 1 + host] = p + at - (at > own)
            else:
                lft[switch, 1 + host] = within + offset % h
    vl, nic_vl = vlane.sl_rows(topology, (*range(_DROPPED), _DROPPED))  # a packet keeps its VL
    vl = vl.copy()
    for first in (each for each in vl_of_sl if each != _DROPPED):
        vl[:, :, within:, first] = first + 1
    nic_vl[:] = vl_of_sl
    lids = np.stack([1 + np.arange(len(topology.hosts)), np.ones(len(topology.hosts), int)], axis=1)
    return vlane.Routes(lft, vl, nic_vl, lids, by_lane=True)
