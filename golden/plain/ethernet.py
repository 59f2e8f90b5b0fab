"""Plain event-driven model of an Ethernet network with congestion management: rules ETH-1 to ETH-18.

Congestion points, reaction points, probers, input memories (``ECP``, ``ERP``, ``EPR`` and ``PAU`` rules) and the
random traffic are shared with golden. Queues, links, adapters and the order of events are an independent second
implementation, written only from ``docs/ethernet.md``.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np

from vlane.ethernet.ecm_rp import Notice
from vlane.golden.compiler.records import Records
from vlane.golden.engine.bins import FACTORS, MASK, hash_pair
from vlane.golden.engine.random_bits import draw_below
from vlane.golden.ethernet import limiters, points, probers, watermarks
from vlane.golden.ethernet.fabric import Fabric
from vlane.golden.ethernet.messages import generate_message
from vlane.golden.ethernet.network import Ethernet, Options, Scheme, Service
from vlane.golden.plain.ethernet_parts import CYCLE, DATA_BYTES, Frame, Link, Message, Node

TIMES_A_SECOND = 1_250_000_000
ASK, NOTICE = 14, 40
SHOWN, MOST_GRANTED = 7, 2
(ARRIVAL, NOTIFICATION, ORDER, WATERMARK, SILENCE, MESSAGE, END, SERVICE, DRIFT, REST) = range(10)
"""Kinds of events; events of equal time are handled in this order."""


def plain(records: Records[Any]) -> Any:
    """Return records as a dict of Python objects by index. Interpreted code accesses them faster than numpy records."""
    array = records.array
    names = array.dtype.names or ()
    return {
        place if len(place) > 1 else place[0]: SimpleNamespace(**{name: int(array[place][name]) for name in names})
        for place in np.ndindex(array.shape)
    }


def cycle_from(time: int) -> int:
    """Return the first cycle that starts at or after a time."""
    return -(-time // CYCLE)


class PlainEthernet:
    """A plain Ethernet network.

    Parameters
    ----------
    fabric, scheme, options, services
        Arguments of ``new_ethernet``.
    made : Ethernet
        Result of ``new_ethernet``. Only its blocks (points, limiters, probers, watermarks) and traffic sources are
        used.
    stop : int
        Time at which sources stop.
    """

    def __init__(
        self,
        fabric: Fabric,
        scheme: Scheme,
        options: Options,
        made: Ethernet,
        stop: int,
        services: Sequence[Service] = (),
    ) -> None:
        self.nodes, self.flight, self.scheme, self.stop = fabric.nodes, options.flight_times, scheme, stop
        self.drift_cycles, self.hops = options.drift_cycles, fabric.hops
        self.messages = made.messages
        self.points = made.points._replace(point=plain(made.points.point))
        self.limiters = made.limiters._replace(flow=plain(made.limiters.flow), source=plain(made.limiters.source))
        self.probers = made.probers._replace(probe=plain(made.probers.probe))
        self.watermarks = made.watermarks._replace(input=plain(made.watermarks.input))
        self.links = [Link(number, *way) for number, way in enumerate(fabric.channels())]
        self.link_of = {(link.sender, link.receiver): link for link in self.links}
        self.managed = [scheme.points and each for each in fabric.managed]
        self.input_of: dict[int, int] = {}
        for switch in range(fabric.switches):
            inputs = [link.number for link in self.links if link.receiver == self.nodes + switch]
            for link in self.links:
                if link.sender == self.nodes + switch:
                    link.queues = [deque() for _ in range(1 if options.by_arrival else len(inputs) + 1)]
            self.input_of |= {number: place for place, number in enumerate(inputs)}
        first = {link.sender: link for link in self.links if link.sender < self.nodes}
        self.adapters = [Node(number, self.nodes, first[number]) for number in range(self.nodes)]
        self.events: list[tuple[int, int, int, int, Frame | None]] = []
        self.order, self.digest, self.services = count(), 0, list(services)
        self.flows: dict[tuple[int, int], Counter[str]] = {
            (one, to): Counter() for one in range(self.nodes) for to in range(self.nodes)
        }
        self.switches: list[Counter[str]] = [Counter() for _ in range(fabric.switches)]
        self.arriving: dict[tuple[int, int], tuple[int, int]] = {}
        for place, each in enumerate(services):
            self.at(round(each.seconds * TIMES_A_SECOND), SERVICE, place)
        for node in self.adapters:
            if self.messages.destination_chances[node.number, -1]:
                self.at(
                    draw_below(self.messages.bits[node.number], DATA_BYTES * node.link.byte_time), MESSAGE, node.number
                )
            if self.drift_cycles:
                self.at(self.drift_cycles * CYCLE, DRIFT, node.number)

    def at(self, time: int, kind: int, place: int, frame: Frame | None = None) -> None:
        """Schedule an event. Events of equal time, kind and place are ordered by frame."""
        heapq.heappush(self.events, (int(time), kind, place, frame.order if frame else next(self.order), frame))

    def run(self, seconds: float) -> None:
        """Handle all events before a time."""
        end = round(seconds * TIMES_A_SECOND)
        while self.events and self.events[0][0] < end:
            time, kind, place, _, frame = heapq.heappop(self.events)
            if kind == ARRIVAL and frame is not None:
                self.arrive(self.links[place], frame, time)
            elif kind == NOTIFICATION and frame is not None:
                self.join(self.links[place].sender - self.nodes, frame, time, NOTIFICATION, place)
            elif kind == ORDER:
                self.give_order(self.adapters[place], time // CYCLE)
            elif kind in (WATERMARK, SILENCE, REST):
                self.start(self.links[place], time)
            elif kind == MESSAGE:
                self.make_message(self.adapters[place], time)
            elif kind == END:
                self.end(self.links[place], time)
            elif kind == SERVICE:
                self.link_of[self.services[place].ends].slower = self.services[place].slower
            elif kind == DRIFT:
                self.drift(self.adapters[place], time)

    # links

    def start(self, link: Link, time: int) -> None:
        """Start the next frame of an idle transmitter, if it may send (ETH-3, ETH-8, ETH-9)."""
        if link.on_wire is not None:
            return
        cycle, slower = time // CYCLE, link.slower
        if (
            link.sender >= self.nodes
            and self.scheme.pause
            and watermarks.is_pause_frame_due(self.watermarks, link.number ^ 1, cycle)
        ):
            quanta = int(watermarks.pause_quanta(self.watermarks, link.number ^ 1, cycle))
            frame: Frame | None = Frame("pause", link.sender, link.receiver, quanta=quanta)
            slower = 1
            watermarks.note_frame_sent(self.watermarks, link.number ^ 1, cycle)
            again = watermarks.refresh_cycle(self.watermarks, link.number ^ 1)
            if again != watermarks.NEVER:
                self.at(again * CYCLE, WATERMARK, link.number)
        elif time < max(link.silent_until, link.rests_until):
            return
        elif link.sender < self.nodes:
            frame = self.next_of_adapter(self.adapters[link.sender], time)
        else:
            frame = link.next_frame()
        if frame is None:
            return
        frame.order, link.on_wire = next(self.order), frame
        link.busy_until = time + frame.size * link.byte_time
        self.at(link.busy_until, END, link.number)
        if slower > 1:
            link.rests_until = time + frame.size * link.byte_time * slower
            self.at(link.rests_until, REST, link.number)
        self.at(((link.busy_until + self.flight) // CYCLE + 1) * CYCLE, ARRIVAL, link.number, frame)

    def end(self, link: Link, time: int) -> None:
        """Handle the last byte of a frame: the frame leaves its queue and its memory (ETH-5, ETH-6)."""
        frame, link.on_wire = link.on_wire, None
        assert frame is not None
        if link.sender >= self.nodes and frame.kind != "pause":
            if self.managed[link.sender - self.nodes]:
                points.remove_frame(self.points, link.number, frame.size)
            if frame.memory is not None:
                watermarks.remove_frame(self.watermarks, frame.memory, frame.size, time // CYCLE)
                self.look_at(frame.memory, time)
        self.start(link, time)

    def look_at(self, number: int, time: int) -> None:
        """Check in the next cycle whether an input requests a PAUSE, which the opposite transmitter sends (ETH-8)."""
        self.at((time // CYCLE + 1) * CYCLE, WATERMARK, number ^ 1)

    # switches

    def arrive(self, link: Link, frame: Frame, time: int) -> None:
        """Handle the arrival of a frame: apply a PAUSE (ETH-9), receive it, or store it in the switch (ETH-5)."""
        if frame.kind == "pause":
            opposite = self.links[link.number ^ 1]
            begin = time if opposite.on_wire is None else opposite.busy_until
            opposite.silent_until = begin + frame.quanta * CYCLE * opposite.byte_time
            self.at(max(opposite.silent_until, time), SILENCE, opposite.number)
        elif link.receiver < self.nodes:
            self.receive(self.adapters[link.receiver], frame, time)
        else:
            switch = link.receiver - self.nodes
            if frame.memory != link.number:
                if not watermarks.store_frame(self.watermarks, link.number, frame.size, time // CYCLE):
                    self.drop(switch, frame)
                    return
                frame.memory = link.number
                self.look_at(link.number, time)
            self.join(switch, frame, time, ARRIVAL, link.number)

    def drop(self, switch: int, frame: Frame) -> None:
        """Count a dropped frame (ETH-5)."""
        if frame.kind == "data":
            self.flows[frame.source, frame.destination]["dropped"] += 1
        self.switches[switch]["dropped" if frame.kind == "data" else "lost"] += 1

    def join(self, switch: int, frame: Frame, time: int, kind: int, place: int) -> None:
        """Append a frame to its output queue, or retry next cycle if another frame joined in this one (ETH-6)."""
        cycle = time // CYCLE
        output = self.link_of[self.nodes + switch, self.hops[switch][frame.destination]]
        if output.last_join_cycle == cycle:
            self.at(time + CYCLE, kind, place, frame)
            return
        output.last_join_cycle = cycle
        row = self.input_of[frame.memory] if frame.memory is not None else len(output.queues) - 1
        output.queues[row if len(output.queues) > 1 else 0].append(frame)
        if self.managed[switch]:
            is_data, cpid = frame.kind == "data", output.number
            found = points.add_frame(self.points, cpid, frame.size, is_data, is_data and frame.tag == cpid)
            if found.sends:
                self.notify(switch, output, frame, found, time)
        self.start(output, time)

    def notify(self, switch: int, output: Link, about: Frame, notification: points.Notification, time: int) -> None:
        """Schedule the notification for a sampled frame (ETH-7)."""
        is_raising = not notification.stop and notification.feedback > 0
        self.switches[switch]["raising" if is_raising else "lowering"] += 1
        made = Frame("notification", self.nodes + switch, about.source, flow=about.destination)
        made.notice_kind = int(Notice.STOP if notification.stop else Notice.POINT)
        made.cpid, made.feedback, made.order = output.number, int(notification.feedback), next(self.order)
        self.at(time + SHOWN * CYCLE, NOTIFICATION, output.number, made)

    # nodes

    def receive(self, node: Node, frame: Frame, time: int) -> None:
        """Receive a frame at a node (ETH-10, ETH-16 to ETH-18)."""
        cycle = time // CYCLE
        if frame.kind == "data":
            self.deliver(frame, cycle)
        elif frame.kind == "probe":
            reply = Frame("reply", node.number, frame.source, flow=frame.flow)
            reply.stamp, reply.reached, reply.flow_bytes = frame.stamp, cycle, frame.flow_bytes
            node.control.append(reply)
            self.start(node.link, time)
        elif frame.kind == "reply":
            found = probers.process_reply(
                self.probers, node.number, frame.flow, frame.stamp, frame.reached, frame.flow_bytes
            )
            if found.valid:
                self.receive_notification(node, (frame.flow, int(Notice.PROBE), frame.flow, int(found.feedback)), time)
        else:
            self.receive_notification(node, (frame.flow, frame.notice_kind, frame.cpid, frame.feedback), time)

    def deliver(self, frame: Frame, cycle: int) -> None:
        """Count a data frame, and its message if it is complete (ETH-18)."""
        flow, who = (frame.source, frame.destination), frame.source * self.nodes + frame.destination
        self.flows[flow]["delivered"] += 1
        self.digest = (self.digest + hash_pair(who ^ (frame.message_number * FACTORS[2] & MASK), cycle)) & MASK
        serial, received = self.arriving.get(flow, (0, 0))
        received = received + 1 if serial == frame.message_number else 1
        self.arriving[flow] = frame.message_number, received
        if received == frame.message_frames:
            self.flows[flow]["completed"] += 1
            self.flows[flow]["waited"] += cycle - frame.generated_cycle

    def receive_notification(self, node: Node, notification: tuple[int, int, int, int], time: int) -> None:
        """Queue feedback for the reaction point."""
        node.feedback.append(notification)
        self.order_at(node, cycle_from(time))

    def drift(self, node: Node, time: int) -> None:
        """Queue a drift order for every installed limiter (ERP-13)."""
        for flow in range(self.nodes):
            if limiters.is_limited(self.limiters, node.number, flow):
                self.receive_notification(node, (flow, int(Notice.DRIFT), 0, 0), time)
        self.at(time + self.drift_cycles * CYCLE, DRIFT, node.number)

    def make_message(self, node: Node, time: int) -> None:
        """Generate a message and schedule the next one (ETH-11)."""
        if time >= self.stop:
            return
        to, frames, slots = (int(each) for each in generate_message(self.messages, node.number, time // CYCLE))
        node.serials[to] += 1
        node.backlog[to].append(Message(time // CYCLE, node.serials[to], frames, frames))
        self.flows[node.number, to]["messages"] += 1
        self.flows[node.number, to]["made"] += frames
        self.at(time + slots * DATA_BYTES * node.link.byte_time, MESSAGE, node.number)
        self.order_at(node, cycle_from(time))

    def order_at(self, node: Node, cycle: int) -> None:
        """Schedule a visit of the reaction point in a cycle, once."""
        if cycle not in node.order_cycles:
            node.order_cycles.add(cycle)
            self.at(cycle * CYCLE, ORDER, node.number)

    def give_order(self, node: Node, cycle: int) -> None:
        """Give the reaction point its next order, if any: queued feedback before questions (ETH-12 to ETH-14)."""
        node.order_cycles.discard(cycle)
        asked = None if node.feedback else self.flow_to_ask(node, cycle)
        if not node.feedback and asked is None:
            return
        if node.may_order(cycle):
            if asked is None:
                limiters.receive_notification(self.limiters, node.number, *node.feedback.popleft(), cycle)
                node.next_order_cycle = cycle + NOTICE
            else:
                self.ask(node, asked, cycle)
                node.next_order_cycle = cycle + ASK
        self.order_at(node, node.next_order_cycle)

    def flow_to_ask(self, node: Node, cycle: int) -> int | None:
        """Return the flow to ask for next. If tokens are missing, schedule a retry for when they suffice (ETH-13)."""
        if len(node.granted) >= MOST_GRANTED:
            return None
        waiting = [flow for flow in range(self.nodes) if node.backlog[flow]]
        when = {
            flow: int(limiters.earliest_start(self.limiters, node.number, flow, DATA_BYTES, cycle)) for flow in waiting
        }
        now = [flow for flow in waiting if when[flow] <= cycle]
        if now:
            return min(now, key=lambda flow: (flow - node.next_flow) % self.nodes)
        if waiting:
            self.order_at(node, min(when.values()))
        return None

    def ask(self, node: Node, destination: int, cycle: int) -> None:
        """Ask the reaction point for a frame, which may start when the answer is ready (ETH-13)."""
        assert limiters.may_start(self.limiters, node.number, destination, DATA_BYTES, cycle)
        born, serial, frames, left = node.backlog[destination].popleft()
        if left > 1:
            node.backlog[destination].appendleft(Message(born, serial, frames, left - 1))
        frame = Frame(
            "data",
            node.number,
            destination,
            DATA_BYTES,
            generated_cycle=born,
            message_number=serial,
            message_frames=frames,
            ready=cycle + ASK,
        )
        flow_state = self.limiters.flow[node.number, destination]
        if flow_state.limited and not flow_state.lowered_by_probe:
            frame.tag = int(flow_state.cpid)
        node.granted.append(frame)
        node.next_flow = (destination + 1) % self.nodes
        self.at(frame.ready * CYCLE, SILENCE, node.link.number)

    def next_of_adapter(self, node: Node, time: int) -> Frame | None:
        """Return the next frame that an adapter sends (ETH-14 to ETH-16), and count it for the prober."""
        if node.control:
            frame = node.control.popleft()
            if frame.kind == "probe":
                frame.stamp = time // CYCLE
                frame.flow_bytes = int(probers.probe_byte_count(self.probers, node.number, frame.destination))
            return frame
        if not node.granted or node.granted[0].ready * CYCLE > time:
            return None
        frame = node.granted.popleft()
        to = frame.destination
        if self.scheme.probing != "none":
            limited = limiters.is_limited(self.limiters, node.number, to)
            if probers.count_frame(self.probers, node.number, to, DATA_BYTES, limited):
                node.control.append(Frame("probe", node.number, to, flow=to))
        self.order_at(node, cycle_from(time))
        return frame
