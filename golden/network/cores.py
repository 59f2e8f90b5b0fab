"""Runs of a network on one core or on several, with identical deliveries."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from vlane.golden.engine.barrier import wait_for_all
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.pool import IN_USE
from vlane.golden.network.clock import MOVED, NOW
from vlane.golden.network.division import divide
from vlane.golden.network.meters import Meters, double_measured_window, sum_meters
from vlane.golden.network.network import (
    DONE,
    POOL_EMPTY,
    STUCK,
    TRACE_FULL,
    discard_waiting,
    run,
    run_cycle,
    wake_all_ports,
)
from vlane.golden.network.parts import HAD_PACKETS, LAST_MOVED, OF_CREDITS, OF_PACKETS, OWNED, TURN, mailbox_index
from vlane.golden.network.runs import AT_A_TIME, Change, new_packet_pool, run_to
from vlane.golden.network.state import Network
from vlane.golden.switches.output_ports import return_space
from vlane.golden.switches.packets import TO_INPUT, Packets, free_packets, schedule, set_free

_GOES_ON = -1
(WHY, PACKETS, LAST) = range(3)


@inner
def _publish_state(network: Network, packets: Packets) -> None:
    """Publish whether this part can run the next window, its packets, and the last cycle of movement."""
    part = network.partition
    part_state, in_use = part.part_state, packets.regs[IN_USE]
    if in_use != 0:
        part_state[LAST_MOVED] = network.clock[MOVED]
    elif part_state[HAD_PACKETS] != 0:
        part_state[LAST_MOVED] = network.clock[NOW]
    part_state[HAD_PACKETS] = in_use
    why = _GOES_ON
    if part_state[OWNED] - in_use < part.nics * (network.staged_packets.shape[1] + part.window):
        why = POOL_EMPTY
    if len(network.meters.trace) > 0 and len(network.meters.trace) - network.meters.traced[0] < part.nics * part.window:
        why = TRACE_FULL
    published = part.published[part_state[TURN] * part.parts + part.number]
    published[WHY], published[PACKETS], published[LAST] = why, in_use, part_state[LAST_MOVED]


@inner
def _stop_reason(network: Network, end_cycle: int) -> int:
    """Return why no part can run the next window (equal in all parts), or -1 if all can."""
    part, now = network.partition, network.clock[NOW]
    if now >= end_cycle:
        return DONE
    why, in_use, last = _GOES_ON, 0, 0
    for number in range(part.parts):
        published = part.published[part.part_state[TURN] * part.parts + number]
        why, in_use, last = max(why, published[WHY]), in_use + published[PACKETS], max(last, published[LAST])
    if why == _GOES_ON and in_use != 0 and now - 1 - last > network.patience:
        return STUCK
    return why


@inner
def _receive_mail(network: Network, packets: Packets) -> None:
    """Receive the packets and credits that other parts posted in the previous window."""
    part, now = network.partition, network.clock[NOW]
    for writer in range(part.parts):
        box = mailbox_index(part, part.part_state[TURN], writer, part.number)
        for place in range(part.mail_counts[box, OF_PACKETS]):
            letter = part.packets[box, place]
            packets.regs[IN_USE] += 1
            part.part_state[OWNED] += 1
            schedule(packets, letter.packet, letter.cycle, TO_INPUT, letter.input_port)
        for place in range(part.mail_counts[box, OF_CREDITS]):
            credit = part.credits[box, place]
            size = (credit.flits, credit.blocks)
            return_space(
                network.out_ports, credit.link_end, now, credit.start_cycle, credit.lane, size, credit.flits_ahead
            )
        part.mail_counts[box, OF_PACKETS] = part.mail_counts[box, OF_CREDITS] = 0


@kernel
def run_part(network: Network, packets: Packets, end_cycle: int) -> int:
    """Run one part of a network up to ``end_cycle``, in step with the other parts."""
    part = network.partition
    while True:
        _publish_state(network, packets)
        wait_for_all(part.barrier, part.parts)
        _receive_mail(network, packets)
        reason = _stop_reason(network, end_cycle)
        part.part_state[TURN] ^= 1
        if reason >= 0:
            wake_all_ports(network)
            return reason
        until = min(network.clock[NOW] + part.window, end_cycle)
        while network.clock[NOW] < until:
            run_cycle(network, packets)


class OneCore:
    """A network that runs in the calling thread.

    Parameters
    ----------
    network : Network
        Network before its first cycle.
    packets : int
        Initial size of the packet pool, which grows as needed.
    """

    def __init__(self, network: Network, packets: int) -> None:
        self.net, self._packets = network, new_packet_pool(network, packets)
        self.plugged = network.sources.plugged
        self.cpu_seconds = 0.0

    def warm(self) -> None:
        """Compile the simulation and the count of waiting packets without running a cycle."""
        run(self.net, self._packets, 0)
        discard_waiting(self.net, self._packets)

    def run_to(self, end_cycle: int, changes: deque[Change]) -> int:
        """Run up to a cycle, apply the pending changes, and return the reason for stopping."""
        start = time.thread_time()
        reason, self._packets = run_to(self.net, self._packets, end_cycle, changes=changes)
        self.cpu_seconds += time.thread_time() - start
        return reason

    def whole(self) -> tuple[Network, Packets]:
        """Return the network and its packets in their current state."""
        return self.net, self._packets

    def grow(self, packets: int) -> None:
        """Replace the packet pool by one of ``packets`` packets, before the first cycle."""
        self._packets = new_packet_pool(self.net, packets)

    def meters(self) -> list[Meters]:
        """Return a list of the meters whose sum is the network's."""
        return [self.net.meters]


class ManyCores:
    """A network divided into parts, each run by a thread.

    Parameters
    ----------
    network : Network
        Network before its first cycle.
    packets : int
        Initial size of the packet pool, which grows as needed.
    cores : int
        Number of parts, at least 2.

    Raises
    ------
    InputError
        If the network cannot be divided into that many parts.
    """

    def __init__(self, network: Network, packets: int, cores: int) -> None:
        self._net = network
        self._parts = divide(network, new_packet_pool(network, packets), cores)
        self._dealt_at = -_SELDOM
        self.plugged = network.sources.plugged
        self.cpu_seconds = 0.0

    def warm(self) -> None:
        """Compile the simulation without running a cycle."""
        self.run_to(0, deque())
        self.cpu_seconds = 0.0

    def run_to(self, end_cycle: int, changes: deque[Change]) -> int:
        """Run up to a cycle, apply the pending changes, and return the reason for stopping."""
        at_a_time = max(1, AT_A_TIME // len(self._net.staged_packets))
        with ThreadPoolExecutor(len(self._parts)) as threads:
            while True:
                now = int(self._parts[0][0].clock[NOW])
                stop = min(end_cycle, changes[0].cycle) if changes else end_cycle
                until = min(stop, now + at_a_time)
                made = list(threads.map(_timed, self._parts, [until] * len(self._parts)))
                self.cpu_seconds += sum(seconds for _, seconds in made)
                reason, now = made[0][0], int(self._parts[0][0].clock[NOW])
                if reason == POOL_EMPTY:
                    self._deal(now)
                elif reason != DONE or now >= stop == end_cycle:
                    return reason
                elif now >= stop:
                    change = changes.popleft()
                    for net, _ in self._parts:
                        change.make(net)

    def whole(self) -> tuple[Network, Packets]:
        """Return the merged network and its packets in their current state, without the calendars of the parts."""
        nets, pools = zip(*self._parts, strict=True)
        first = pools[0]
        pool = first.pool.held_in(first.pool.array.copy())
        packets = first._replace(pool=pool, regs=np.zeros_like(first.regs))
        set_free(packets, np.concatenate([free_packets(pool) for pool in pools]))
        packets.regs[IN_USE] = sum(int(pool.regs[IN_USE]) for pool in pools)
        net = self._net._replace(
            meters=sum_meters([each.meters for each in nets]),
            sources=self._net.sources._replace(earliest=np.min([each.sources.earliest for each in nets], axis=0)),
            clock=nets[0].clock.copy(),
        )
        return net, packets

    def meters(self) -> list[Meters]:
        """Return a list of the parts' meters, whose sum is the network's."""
        return [net.meters for net, _ in self._parts]

    def _deal(self, now: int) -> None:
        """Redistribute the free packets over the parts.

        Enlarge the pool if fewer than half of its packets are free, or if the last redistribution is recent.
        """
        pools = [pool for _, pool in self._parts]
        free, pool = np.concatenate([free_packets(each) for each in pools]), pools[0].pool
        origin, count = pools[0].origin, len(pool)
        if 2 * len(free) < count or now - self._dealt_at < _SELDOM:
            more = new_packet_pool(self._net, 2 * count + self._net.staged_packets.size)
            more.pool[:count], more.origin[:count] = pool, origin
            free = np.concatenate([free, np.arange(count, len(more.pool))])
            pool, origin = more.pool, more.origin
        self._dealt_at = now
        dealt = []
        for (net, each), share in zip(self._parts, np.array_split(free, len(self._parts)), strict=True):
            packets = each._replace(pool=pool, origin=origin)
            set_free(packets, share)
            net.partition.part_state[OWNED] = packets.regs[IN_USE] + len(share)
            dealt.append((net, packets))
        self._parts = dealt


_SELDOM = 1000
"""Minimum cycles between two redistributions without enlarging the pool; each costs as much as several cycles."""


def _timed(part: tuple[Network, Packets], end_cycle: int) -> tuple[int, float]:
    """Run a part and return the reason for stopping and the thread's CPU seconds."""
    start = time.thread_time()
    reason = run_part(*part, end_cycle)
    return reason, time.thread_time() - start


Running = OneCore | ManyCores


def start_network(network: Network, *, cores: int = 1, packets: int = 1 << 14) -> Running:
    """Return a network that can run, on one core or divided over several.

    Raises
    ------
    InputError
        If the network cannot be divided into that many parts.
    """
    return OneCore(network, packets) if cores == 1 else ManyCores(network, packets, cores)


def double_window(network: Running) -> None:
    """Double the measurement window of a network, when its end is reached."""
    for meters in network.meters():
        double_measured_window(meters)
