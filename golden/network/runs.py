"""Runs of a network: up to a cycle, with the packets it needs, and with changes made from outside."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from vlane.golden.network.clock import NOW
from vlane.golden.network.network import DONE, POOL_EMPTY, Network, run
from vlane.golden.switches.output_ports import FULL_PACE
from vlane.golden.switches.packets import Packets, grown, new_packets

AT_A_TIME = 1 << 22
"""Cycles times NICs after which Python may be interrupted, about a second: it hears of nothing in compiled code."""


def packets_for(net: Network, count: int) -> Packets:
    """Return a pool of so many free packets, and a calendar that reaches as far ahead as the slowest cable needs."""
    out_ports = net.out_ports
    flits, slowest = int(out_ports.largest.max()) << out_ports.returns.flit_shift, int(out_ports.pace.max(initial=0))
    return new_packets(count, flits * slowest // FULL_PACE)


class Change(NamedTuple):
    """Something that is done to a network from outside.

    Parameters
    ----------
    cycle : int
        Before this one is run.
    make : callable
        Does it, given the network, or each of its parts if several cores run it; the parts share the state of all ends.
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
    """Run up to a cycle, giving the network the packets it needs; return why it stopped, and the pool.

    Parameters
    ----------
    changes : deque of Change
        In order; those that were made are taken out.
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
