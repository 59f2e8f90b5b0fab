"""Topologies: switches, hosts, cables, and the parameters that routing needs."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from vlane.errors import InputError
from vlane.tables.lft import MAX_PORTS

__all__ = ["End", "Topology", "dumbbell", "fat_tree", "irregular", "torus", "torus_port", "tree"]

End = tuple[int, int]
"""A (switch, port), both from 0."""


@dataclass(frozen=True)
class Topology:
    """A network of switches, hosts and cables.

    Parameters
    ----------
    name : str
        Name for reports.
    switches, ports : int
        Number of switches, and number of ports per switch.
    cables : tuple of (End, End)
        Cables between switches, each listed once.
    hosts : tuple of End
        Port of each host's NIC.
    shape : dict
        Parameters for routing: ``k``, ``n`` and ``halves`` of a tree; ``size`` and ``trunks`` of a torus.
    switch_names, host_names : tuple of str
        Names given by the user; empty without names.

    Raises
    ------
    InputError
        If a port is used twice or does not exist, there are fewer than two hosts, or the network is not connected.
    """

    name: str
    switches: int
    ports: int
    cables: tuple[tuple[End, End], ...]
    hosts: tuple[End, ...]
    shape: dict[str, Any] = field(default_factory=dict)
    switch_names: tuple[str, ...] = ()
    host_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.ports <= MAX_PORTS:
            raise InputError("ports", f"1 to {MAX_PORTS} for each switch", self.ports)
        if len(self.hosts) < 2:
            raise InputError("hosts", "at least 2", len(self.hosts))
        used: set[End] = set()
        for end in (*(end for cable in self.cables for end in cable), *self.hosts):
            if not (0 <= end[0] < self.switches and 0 <= end[1] < self.ports):
                raise InputError(
                    "cables", f"between existing ports of {self.switches} switches", f"switch {end[0]} port {end[1]}"
                )
            if end in used:
                problem = f": switch {end[0]} port {end[1]} has two cables"
                raise InputError("cables", "at most one per port", "two", problem=problem)
            used.add(end)
        if len(self.distances(0)) < self.switches:
            off = sorted(set(range(self.switches)) - self.distances(0).keys())
            got = f"{len(off)} switches cut off from {self.show_switch(0)}, such as {self.show_switch(off[0])}"
            raise InputError("cables", "a connected network", got, problem=f": {got}; add cables")

    def distances(self, root: int) -> dict[int, int]:
        """Return the number of cables from a switch to each reachable switch, in order of distance."""
        beside: dict[int, set[int]] = {}
        for (one, _), (other, _) in self.cables:
            beside.setdefault(one, set()).add(other)
            beside.setdefault(other, set()).add(one)
        found: dict[int, int] = {}
        layer, distance = {root}, 0
        while layer:
            found |= dict.fromkeys(layer, distance)
            layer = {near for switch in layer for near in beside.get(switch, ())} - found.keys()
            distance += 1
        return found

    def show_switch(self, switch: int) -> str:
        """Return the displayed name of a switch: number and, in brackets, the user's name, if any."""
        return f"switch {switch}{_in_brackets(self.switch_names, switch)}"

    def show_host(self, host: int) -> str:
        """Return the displayed name of a host: number and, in brackets, the user's name, if any."""
        return f"host {host}{_in_brackets(self.host_names, host)}"

    def far_ends(self) -> dict[End, End]:
        """Return the other end of every cabled port between switches."""
        return {**dict(self.cables), **{other: one for one, other in self.cables}}


def _in_brackets(names: tuple[str, ...], index: int) -> str:
    return f" ({names[index]})" if index < len(names) and names[index] else ""


def tree(k: int, n: int) -> Topology:
    """Return a k-ary n-tree: k**n hosts, and n levels of switches with k down ports followed by k up ports.

    Switch ``w`` of level ``l`` has number ``l * k**(n-1) + w``. Up port ``k + j`` of level ``l`` leads to the switch
    whose digit ``l`` of ``w`` is replaced by ``j``.
    """
    if not 2 <= k <= MAX_PORTS // 2 or not 1 <= n <= 8 or k**n > 1 << 16:
        raise InputError("k", f"2 to {MAX_PORTS // 2} with n from 1 to 8 and at most 65536 hosts", f"{k} with n = {n}")
    row = k ** (n - 1)
    cables = []
    for level, word, up in product(range(n - 1), range(row), range(k)):
        digit = word // k**level % k
        above = word + (up - digit) * k**level
        cables.append(((level * row + word, k + up), ((level + 1) * row + above, digit)))
    hosts = tuple((host // k, host % k) for host in range(k**n))
    return Topology(f"{k}-ary {n}-tree", n * row, 2 * k, tuple(cables), hosts, {"k": k, "n": n, "halves": 1})


def fat_tree(m: int, n: int) -> Topology:
    """Return an m-port n-tree: two k-ary n-trees, k = m / 2, with common roots.

    It has 2 k**n hosts. Switch ``w`` of level ``l`` in half ``h`` has number ``(2 * l + h) * k**(n-1) + w`` and the
    ports of a tree. The roots come last; their port ``h * k + j`` leads down into half ``h`` (Lin, Chung and Huang
    2004).
    """
    k = m // 2
    if m % 2 or not 4 <= m <= MAX_PORTS or not 2 <= n <= 8 or 2 * k**n > 1 << 16:
        raise InputError(
            "m", f"4 to {MAX_PORTS} and even, with n from 2 to 8 and at most 65536 hosts", f"{m} with n = {n}"
        )
    row = k ** (n - 1)
    cables = []
    for level, half, word, up in product(range(n - 1), range(2), range(row), range(k)):
        digit = word // k**level % k
        above = word + (up - digit) * k**level
        is_root = level == n - 2
        upper = (2 * (level + 1) + (0 if is_root else half)) * row + above
        cables.append((((2 * level + half) * row + word, k + up), (upper, half * k * is_root + digit)))
    hosts = tuple((host // k, host % k) for host in range(2 * k**n))
    shape = {"k": k, "n": n, "halves": 2}
    return Topology(f"{m}-port {n}-tree", (2 * n - 1) * row, m, tuple(cables), hosts, shape)


def torus(size: tuple[int, ...], *, hosts: int = 1, trunks: int = 1) -> Topology:
    """Return a torus network.

    ``torus_port`` defines the port numbers; ports of hosts come last. The digits of a switch number are its
    coordinates, lowest dimension first.
    """
    if not 1 <= len(size) <= 6 or any(not 3 <= k <= 64 for k in size) or prod(size) > 1 << 14:
        raise InputError("size", "1 to 6 dimensions from 3 to 64 with at most 16384 switches", list(size))
    if hosts < 1 or trunks < 1:
        raise InputError("hosts and trunks", "at least 1", f"{hosts} and {trunks}")
    step = [prod(size[:dimension]) for dimension in range(len(size))]
    cables = []
    for switch, (dimension, k), trunk in product(range(prod(size)), enumerate(size), range(trunks)):
        at = switch // step[dimension] % k
        up = switch + ((at + 1) % k - at) * step[dimension]
        port = torus_port(dimension, trunk, dimensions=len(size), trunks=trunks)
        cables.append(((switch, port), (up, port + 1)))
    first = 2 * trunks * len(size)
    places = tuple((switch, first + host) for switch in range(prod(size)) for host in range(hosts))
    name = f"{'x'.join(map(str, size))} torus"
    return Topology(name, prod(size), first + hosts, tuple(cables), places, {"size": size, "trunks": trunks})


def torus_port(dimension: int, member: int, *, dimensions: int, trunks: int) -> int:
    """Return a torus switch's up port of a dimension, for one trunk member.

    The down port is the next port. Dimensions are paired: +x, -x, +y, -y of one member are four consecutive ports,
    followed by those of the next member. An unpaired last dimension has two ports per member. A packet that keeps its
    member therefore stays in one MPort of an Omni-Path switch and waits for no central buffer on its way around a
    ring.
    """
    paired = dimension ^ 1 < dimensions
    return 2 * trunks * (dimension & ~paired) + (4 * member + 2 * (dimension & 1) if paired else 2 * member)


def irregular(switches: int, *, ports: int, hosts: int, seed: int) -> Topology:
    """Return a random connected network.

    Each switch has host ports first, then at most one cable to each neighbour. A ring through all switches in random
    order connects them. Then free ports are joined at random, as long as two switches with free ports are not
    neighbours.
    """
    links = ports - hosts
    if switches < 2:
        raise InputError("switches", "at least 2", switches)
    if hosts < 1 or links < (1 if switches == 2 else 2):
        raise InputError("ports", f"at least hosts + {1 if switches == 2 else 2} with hosts of at least 1", ports)
    source = random.Random(seed)  # noqa: S311 - a repeatable choice, no secret
    order = source.sample(range(switches), switches)
    pairs = {tuple(sorted((one, other))) for one, other in zip(order, order[1:] + order[:1], strict=True)}
    left = [links - sum(switch in pair for pair in pairs) for switch in range(switches)]
    while candidates := [
        (one, other)
        for one in range(switches)
        if left[one]
        for other in range(one + 1, switches)
        if left[other] and (one, other) not in pairs
    ]:
        chosen = source.choice(candidates)
        pairs.add(chosen)
        left[chosen[0]] -= 1
        left[chosen[1]] -= 1
    following = [hosts] * switches
    cables = []
    for one, other in sorted(pairs):
        cables.append(((one, following[one]), (other, following[other])))
        following[one] += 1
        following[other] += 1
    places = tuple((switch, host) for switch in range(switches) for host in range(hosts))
    return Topology(f"irregular, {switches} switches, seed {seed}", switches, ports, tuple(cables), places)


def dumbbell(left: int, right: int, *, trunks: int = 1) -> Topology:
    """Return two switches with hosts, joined by ``trunks`` cables."""
    if left < 1 or right < 1 or trunks < 1:
        raise InputError("left, right and trunks", "at least 1", f"{left}, {right} and {trunks}")
    cables = tuple(((0, left + trunk), (1, right + trunk)) for trunk in range(trunks))
    hosts = (*((0, host) for host in range(left)), *((1, host) for host in range(right)))
    return Topology(f"dumbbell {left} + {right}", 2, max(left, right) + trunks, cables, hosts)
