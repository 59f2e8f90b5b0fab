"""Bit rotation: host b(n-1) ... b1 b0 sends to host b0 b(n-1) ... b1 (Dally and Towles, table 3.1)."""

from __future__ import annotations

import vlane


@vlane.pattern("rotation")
def rotation(host: int, topology: vlane.Topology) -> int:
    """Each host sends to the one whose number is its own, rotated right by a bit."""
    hosts = len(topology.hosts)
    if hosts & (hosts - 1):
        raise vlane.InputError("pattern rotation", "used with a power of 2 as number of hosts", hosts)
    return host >> 1 | (host & 1) * hosts >> 1
