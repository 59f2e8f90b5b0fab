"""Runs of a network up to a cycle, with a growing packet pool and scheduled changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from vlane.golden.network.clock import NOW
from vlane.golden.network.network import DONE, POOL_EMPTY, run
from vlane.golden.network.state import Network
from vlane.golden.switches.output_ports import FULL_PACE
from vlane.golden.switches.packets import Packets, grown, new_packets

AT_A_TIME = 1 << 22
"""Cycles times NICs per call of compiled code, about a second: Python handles interrupts only between calls."""


_MESSAGES = 4
"""Messages of each application queue in addition to one per packet."""


def packets_for(net: Network, count: int) -> Packets:
    """Return a pool of ``count`` free packets with a calendar that covers the slowest cable."""
    out_ports = net.out_ports
    flits, slowest = int(out_ports.largest.max()) << out_ports.returns.flit_shift, int(out_ports.pace.max(initial=0))
    messages = count + _MESSAGES * net.staged.size if net.sources.mtu else 0
    return new_packets(count, flits * slowest // FULL_PACE, messages)


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
    net: Network,
    packets: Packets,
    end: int,
    run_on: Callable[[Network, Packets, int], int] = run,
    changes: deque[Change] | None = None,
) -> tuple[int, Packets]:
    """Run up to a cycle and enlarge the packet pool as needed.

    Return the reason for stopping and the pool.

    Parameters
    ----------
    run_on : callable
        Function that runs the network up to a cycle.
    changes : deque of Change
        Changes in order of their cycles; applied changes are removed.
    """
    pending = deque() if changes is None else changes
    at_a_time = max(1, AT_A_TIME // len(net.staged))
    while True:
        stop = min(end, pending[0].cycle) if pending else end
        reason = run_on(net, packets, min(stop, int(net.clock[NOW]) + at_a_time))
        if reason == POOL_EMPTY:
            packets = grown(packets, 2 * len(packets.pool) + net.staged.size)
        elif reason != DONE or net.clock[NOW] >= stop == end:
            return reason, packets
        elif net.clock[NOW] >= stop:
            pending.popleft().make(net)
