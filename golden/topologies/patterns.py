"""Destinations of the permutation patterns (Dally and Towles, Principles and Practices, table 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from vlane.errors import InputError
from vlane.golden.topologies.topology import Topology

__all__ = ["PERMUTATIONS", "permutation"]


def _bits(hosts: int, name: str) -> int:
    if hosts & (hosts - 1):
        problem = f"needs a power of 2 as number of hosts; the network has {hosts}"
        raise InputError(f"pattern {name}", "another pattern", hosts, problem=problem)
    return hosts.bit_length() - 1


def _complement(host: int, topology: Topology) -> int:
    return host ^ ((1 << _bits(len(topology.hosts), "complement")) - 1)


def _reversal(host: int, topology: Topology) -> int:
    bits = _bits(len(topology.hosts), "reversal")
    return sum(((host >> bit) & 1) << (bits - 1 - bit) for bit in range(bits))


def _transpose(host: int, topology: Topology) -> int:
    bits = _bits(len(topology.hosts), "transpose")
    if bits % 2:
        hosts = len(topology.hosts)
        problem = f"needs a power of 4 as number of hosts; the network has {hosts}"
        raise InputError("pattern transpose", "another pattern", hosts, problem=problem)
    half = bits // 2
    return host >> half | (host & ((1 << half) - 1)) << half


def _shifted(host: int, topology: Topology, shift: Callable[[int], int]) -> int:
    """Return the host shifted by ``shift(k)`` in every dimension of size k.

    Topologies without dimensions count as one dimension of all hosts.
    """
    size = topology.shape.get("size")
    if size is None:
        return (host + shift(len(topology.hosts))) % len(topology.hosts)
    each = len(topology.hosts) // prod(size)
    switch, step, to = host // each, 1, 0
    for k in size:
        to += (switch // step % k + shift(k)) % k * step
        step *= k
    return to * each + host % each


def _tornado(host: int, topology: Topology) -> int:
    return _shifted(host, topology, lambda k: (k + 1) // 2 - 1)


def _neighbour(host: int, topology: Topology) -> int:
    return _shifted(host, topology, lambda _: 1)


PERMUTATIONS: dict[str, Callable[[int, Topology], int]] = {
    "complement": _complement,
    "reversal": _reversal,
    "transpose": _transpose,
    "tornado": _tornado,
    "neighbour": _neighbour,
}
"""Permutation functions by pattern name."""


def permutation(name: str, topology: Topology) -> tuple[int, ...]:
    """Return the destination of every host.

    Raises
    ------
    InputError
        If the pattern does not support the number of hosts.
    """
    return tuple(PERMUTATIONS[name](host, topology) for host in range(len(topology.hosts)))
