"""Static balance of forwarding tables: link loads if every ordered pair of hosts sends equally."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError
from vlane.golden.topologies.routing import Routes
from vlane.golden.topologies.topology import Topology, torus_port


def carried_pairs(topology: Topology, routes: Routes) -> NDArray[np.float64]:
    """Return the number of ordered host pairs, including self-pairs, that use each port towards another switch.

    Parameters
    ----------
    topology : Topology
        Cables.
    routes : Routes
        Tables, not a rule. A pair's packets use all LIDs of the destination equally.

    Returns
    -------
    array of float64, (switches, ports)
        0 for ports to hosts and for free ports.
    """
    beyond = np.full((topology.switches, topology.ports), -1)
    for (switch, port), (other, _) in topology.far_ends().items():
        beyond[switch, port] = other
    found, every = np.zeros(beyond.shape), np.arange(topology.switches)
    sources = np.bincount([switch for switch, _ in topology.hosts], minlength=topology.switches).astype(float)
    for first, count in routes.lids.tolist():
        for lid in range(first, first + count):
            ports = routes.lft[:, lid].astype(int)
            here = sources / count
            while here.any():
                to = beyond[every, ports]
                on = to >= 0
                found[every[on], ports[on]] += here[on]
                here = np.bincount(to[on], here[on], minlength=topology.switches)
    return found


def link_classes(topology: Topology) -> dict[str, NDArray[np.bool_]]:
    """Return the links of a tree by level and direction, or of a torus by dimension and direction.

    Returns
    -------
    dict of str to array of bool, (switches, ports)
        Sending ports of each class, such as ``up from level 0``, ``down from level 1`` or ``+x``.

    Raises
    ------
    InputError
        For any other topology.
    """
    shape, every = topology.shape, (topology.switches, topology.ports)
    classes: dict[str, NDArray[np.bool_]] = {}
    if "size" in shape:
        dimensions, trunks = len(shape["size"]), shape["trunks"]
        for dimension in range(dimensions):
            ups = [torus_port(dimension, member, dimensions=dimensions, trunks=trunks) for member in range(trunks)]
            for way, sign in enumerate("+-"):
                ports = np.zeros(every, np.bool_)
                ports[:, [port + way for port in ups]] = True
                classes[f"{sign}{'xyzuvw'[dimension]}"] = ports
        return classes
    if "k" not in shape:
        raise InputError("topology", "a tree or a torus", topology.name)
    k, n, halves = shape["k"], shape["n"], shape["halves"]
    row = halves * k ** (n - 1)
    for level in range(n - 1):
        above = level + 1
        up, down = np.zeros(every, np.bool_), np.zeros(every, np.bool_)
        up[level * row : above * row, k : 2 * k] = True
        down[above * row : (above + 1) * row, : k if above < n - 1 else halves * k] = True
        classes[f"up from level {level}"], classes[f"down from level {above}"] = up, down
    return classes


def most_over_mean(topology: Topology, routes: Routes) -> dict[str, float]:
    """Return, by class of links, the largest load divided by the mean of the class (1: perfectly even)."""
    loads = carried_pairs(topology, routes)
    return {name: float(loads[ports].max() / loads[ports].mean()) for name, ports in link_classes(topology).items()}
