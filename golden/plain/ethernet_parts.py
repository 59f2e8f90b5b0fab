"""Parts of the plain Ethernet network: frames, links with their transmitters (ETH-3, ETH-4), adapters (ETH-12)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

CYCLE = 64
"""Time units per cycle; a unit is one byte at 10 Gb/s. Also the size of a frame without data, in bytes."""
DATA_BYTES = 1500
_VISIT, _VISITS = 14, 1024


@dataclass(slots=True)
class Frame:
    """A frame. ``flow`` is the destination of the flow that a notification, probe or reply refers to."""

    kind: str
    source: int
    destination: int
    size: int = CYCLE
    flow: int = 0
    generated_cycle: int = 0
    message_number: int = 0
    message_frames: int = 0
    tag: int | None = None
    ready: int = 0
    stamp: int = 0
    reached: int = 0
    flow_bytes: int = 0
    notice_kind: int = 0
    cpid: int = 0
    feedback: int = 0
    quanta: int = 0
    memory: int | None = None
    order: int = 0


class Message(NamedTuple):
    """Frames of a message that wait in an adapter. ``frames_left`` is the number not yet sent."""

    generated_cycle: int
    serial: int
    frames: int
    frames_left: int


class Link:
    """One direction of a cable, with its transmitter."""

    def __init__(self, number: int, sender: int, receiver: int, mbps: int) -> None:
        self.number, self.sender, self.receiver, self.byte_time = number, sender, receiver, 10_000 // mbps
        self.slower, self.silent_until, self.rests_until, self.busy_until, self.last_join_cycle = 1, 0, 0, 0, -1
        self.on_wire: Frame | None = None
        self.queues: list[deque[Frame]] = []
        self.next_input = 0

    def next_frame(self) -> Frame | None:
        """Remove and return the next frame of a switch output, or None (ETH-4)."""
        for step in range(len(self.queues)):
            place = (self.next_input + step) % len(self.queues)
            if self.queues[place]:
                self.next_input = (place + 1) % len(self.queues)
                return self.queues[place].popleft()
        return None


class Node:
    """An adapter."""

    def __init__(self, number: int, nodes: int, link: Link) -> None:
        self.number, self.link = number, link
        self.next_order_cycle, self.next_visit_cycle, self.next_flow = 0, _VISITS, 0
        self.feedback: deque[tuple[int, int, int, int]] = deque()
        self.control: deque[Frame] = deque()
        self.granted: deque[Frame] = deque()
        self.backlog: list[deque[Message]] = [deque() for _ in range(nodes)]
        self.serials = [0] * nodes
        self.order_cycles: set[int] = set()

    def may_order(self, cycle: int) -> bool:
        """Return whether the reaction point accepts an order in a cycle, after the visits due before it (ERP-16)."""
        while max(self.next_visit_cycle, self.next_order_cycle) < cycle:
            begun = max(self.next_visit_cycle, self.next_order_cycle)
            self.next_order_cycle, self.next_visit_cycle = begun + _VISIT, (begun // _VISITS + 1) * _VISITS
        return self.next_order_cycle <= cycle
