"""Runs of a network up to a cycle, with a growing packet pool and scheduled changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from vlane.golden.network.clock import NOW
from vlane.golden.network.network import DONE, POOL_EMPTY, run
from vlane.golden.network.state import Network
from vlane.golden.switches.output_ports import FULL_PACE
from vlane.golden.switches.packets import Packets, grown_packets, new_packets

AT_A_TIME = 1 << 22
"""Cycles times NICs per call of compiled code, about a second: Python handles interrupts only between calls."""


_MESSAGES = 4
"""Messages of each application queue in addition to one per packet."""


def new_packet_pool(network: Network, packet_count: int) -> Packets:
    """Return a pool of free packets, with a calendar long enough for the slowest cable."""
    out_ports = network.out_ports
    flits, slowest = int(out_ports.largest.max()) << out_ports.returns.flit_shift, int(out_ports.pace.max(initial=0))
    messages = packet_count + _MESSAGES * network.staged_packets.size if network.sources.mtu else 0
    return new_packets(packet_count, flits * slowest // FULL_PACE, messages)


class Change(NamedTuple):
    """A change applied to a running network.

    Parameters
    ----------
    cycle : int
        Cycle before which the change is applied.
    make : callable
        Function that applies the change to the network, or to each part. Parts share the per-port state.
    """

    cycle: int
    make: Callable[[Network], None]


def run_to(
    network: Network,
    packets: Packets,
    end_cycle: int,
    run_on: Callable[[Network, Packets, int], int] = run,
    changes: deque[Change] | None = None,
) -> tuple[int, Packets]:
    """Run up to ``end_cycle``, apply the due changes, and enlarge the packet pool as needed.

    Parameters
    ----------
    run_on : callable
        Function that runs the network up to a cycle.
    changes : deque of Change
        Changes in order of their cycles; applied changes are removed.
    """
    pending = deque() if changes is None else changes
    at_a_time = max(1, AT_A_TIME // len(network.staged_packets))
    while True:
        stop = min(end_cycle, pending[0].cycle) if pending else end_cycle
        reason = run_on(network, packets, min(stop, int(network.clock[NOW]) + at_a_time))
        if reason == POOL_EMPTY:
            packets = grown_packets(packets, 2 * len(packets.pool) + network.staged_packets.size)
        elif reason != DONE or network.clock[NOW] >= stop == end_cycle:
            return reason, packets
        elif network.clock[NOW] >= stop:
            pending.popleft().make(network)
