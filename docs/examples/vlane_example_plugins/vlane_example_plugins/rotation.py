"""Bit rotation: host b(n-1) ... b1 b0 sends to host b0 b(n-1) ... b1 (Dally and Towles, table 3.1)."""

from __future__ import annotations

import vlane


@vlane.pattern("rotation")
def rotation(host: int, topology: vlane.Topology) -> int:
    """Return the destination of a host: its number rotated right by one bit."""
    hosts = len(topology.hosts)
    if hosts & (hosts - 1):
        problem = f"needs a power of 2 as number of hosts; the network has {hosts}"
        raise vlane.InputError("pattern rotation", "another pattern", hosts, problem=problem)
    return host >> 1 | (host & 1) * hosts >> 1
