"""Proofs of the VL buffer by induction: space and counts, then all outputs against a model of queues."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any, ClassVar

from amaranth.hdl import Array, Fragment, Module, Mux, Signal, Value

from vlane.tb.buffers.vlbuffer.proofs_account import BufferModel
from vlane.tb.credits.proofs_room_account import AdmissionModel
from vlane.tb.machinery.proofs.inside import inner_signal, memory_entries
from vlane.tb.machinery.proofs.port_model import PortModel
from vlane.tb.machinery.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.tables.proofs_tables import at, constant, wrapped


class LaneModel(PortModel):
    """Reference model of one lane: flits reserved, written and read."""

    def counts(self, m: Module) -> None:
        """Claim the flits reserved for the lane, and those in it."""
        b, claim = self.ports, self.claim
        gained, used, held, leaving = Signal(10), Signal(16), Signal(16), Signal(4)
        m.d.comb += [
            gained.eq(Mux(b.accepted & (b.reserve_vl == self.lane), b.reserve_flits, 0)),
            leaving.eq(self._leaving(held)),
        ]
        written = self._written(m, held, used + gained)
        m.d.sync += [used.eq(used + gained - leaving), held.eq(held + written - leaving)]
        claim(m, "reserved", at(b.used, self.lane) == used)
        claim(m, "held", at(b.held, self.lane) == held)

    def _leaving(self, held: Value) -> Value:
        """Return how many flits leave the lane: the first port that removes any has priority (VLB-6, VLB-7)."""
        b, leaving = self.ports, Value.cast(0)
        for port in reversed(range(b.parameters.readers)):
            most = Mux(held < b.parameters.read_flits, held, b.parameters.read_flits)
            removes = Mux(b.read_count[port] < most, b.read_count[port], most)
            leaving = Mux((b.read_vl[port] == self.lane) & (removes != 0), removes, leaving)
        return leaving

    def _written(self, m: Module, held: Value, reserved: Value) -> Value:
        """Return how many flits are written into the lane's reserved space."""
        b, count, written, room = self.ports, Value.cast(0), Signal(4), Signal(16)
        for port in range(b.parameters.writers):
            given = Mux(b.write_count[port] < b.parameters.write_flits, b.write_count[port], b.parameters.write_flits)
            count = count + Mux(b.write_vl[port] == self.lane, given, 0)
        m.d.comb += [room.eq(reserved - held), written.eq(Mux(count < room, count, room))]
        return written


def claim_room(claim: Callable[..., None], m: Module, buffer: Any) -> Signal:
    """Claim which packets are accepted: the storage has a slot for each reserved flit and each unused minimum.

    Return the flits that are reserved, or kept free for a lane's minimum.
    """
    b, given = buffer, buffer.parameters
    promised, asks = Signal(16), Signal()
    room = AdmissionModel(given.flits, given.minimum, given.maximum)
    m.d.comb += [promised.eq(room.promised(b.used)), asks.eq(b.reserve_flits != 0)]
    claim(m, "storage", promised <= given.flits)
    fits = []
    for vl, (used, held) in enumerate(zip(b.used, b.held, strict=True)):
        fits.append((b.reserve_vl == vl) & room.fits(used, b.reserve_flits, promised))
        claim(m, "room", b.room[vl] == room.fits(used, given.mtu_flits, promised))
        claim(m, "bounds", (used <= given.maximum) & (held <= used))
    claim(m, "accepted", b.accepted == reduce(or_, fits), when=asks)
    claim(m, "accepted", ~b.accepted, when=~asks)
    return promised


def claim_readable(claim: Callable[..., None], m: Module, buffer: Any) -> None:
    """Claim how many flits each read port shows, and that its other positions are 0."""
    b, most_read = buffer, buffer.parameters.read_flits
    for port in range(buffer.parameters.readers):
        held = Signal(16, name=f"held_at_{port}")
        m.d.comb += held.eq(at(b.held, b.read_vl[port]))
        claim(m, "readable", b.readable[port] == Mux(held < most_read, held, most_read))
        for index in range(most_read):
            flit = b.read_data[port * most_read + index]
            claim(m, "readable", flit == 0, when=b.readable[port] <= index)


class VLBufferProperties(Properties):
    """Check the buffer against a reference model of one arbitrary lane: flits reserved, written and read.

    Parameters
    ----------
    buffer : VLBuffer
        The component.
    """

    statements: ClassVar = {
        "reserved": "The flits reserved for a lane are those accepted minus those read.",
        "held": "The flits in a lane are those written into reserved space minus those read.",
        "accepted": "A packet is accepted exactly when its lane stays within its maximum and every lane can still "
        "use its minimum.",
        "room": "A lane's `room` is asserted exactly when its largest packet would be accepted.",
        "storage": "The reservations of all lanes, with each lane's unused minimum, never exceed the storage.",
        "bounds": "No lane reserves more than its maximum, or holds more than it reserved.",
        "discarded": "The flits discarded in a cycle are those written without a lane or without reserved space.",
        "readable": "A read port shows the oldest flits of its lane, as many as it has positions; the other "
        "positions are 0.",
        "totals": "The registered space of a lane is its unused minimum and the shared flits that no lane has "
        "reserved; the registered number of visible flits follows from those held.",
    }

    def __init__(self, buffer: Any) -> None:
        super().__init__()
        self.buffer, self.m = buffer, Module()
        self.unfolds_memories = buffer.readers * buffer.read_flits > 1
        self.lane = constant(self.m, "watched_lane", 5, 0, buffer.vls - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.buffer), self.lane]

    def elaborate(self, _platform: object) -> Module:
        m, b = self.m, self.buffer
        m.submodules.buffer = b
        claim_totals(self, m, b, b.used, claim_room(self.claim, m, b))
        LaneModel(self.claim, b, self.lane).counts(m)
        self._discarded(m)
        claim_readable(self.claim, m, b)
        return m

    def _discarded(self, m: Module) -> None:
        """Claim that written flits gained by no lane are counted as discarded."""
        b = self.buffer
        ran, written, gone, before, after = (Signal(16, name=name) for name in ("ran", "written", "gone", "was", "now"))
        m.d.comb += after.eq(sum(b.held))
        m.d.sync += [
            ran.eq(1),
            before.eq(after - sum(b.takes)),
            gone.eq(b.discarded),
            written.eq(sum(Mux(count < b.write_flits, count, b.write_flits) for count in b.write_count)),
        ]
        self.claim(m, "discarded", written == gone + after - before, when=ran[0] & (written != 0))


def claim_totals(properties: Properties, m: Module, buffer: Any, used: Any, promised: Value) -> None:
    """Claim the precomputed values of each lane: unused part of its minimum, available space, and readable flits.

    Parameters
    ----------
    used : sequence of Value
        By lane: reserved flits.
    promised : Value
        Flits that are reserved, or kept free for a lane's minimum.
    """
    admission = buffer.admission
    for vl in range(buffer.vls):
        unused, held = admission.unused[vl], buffer.held_now[vl]
        least = Mux(used[vl] < buffer.minimum, buffer.minimum - used[vl], 0)
        properties.claim(m, "totals", (unused == least) & (admission.space[vl] == least + buffer.flits - promised))
        properties.claim(m, "totals", buffer.seen_now[vl] == Mux(held < buffer.read_flits, held, buffer.read_flits))


class QueueProperties(Properties):
    """Check every output of the buffer against a model that stores each lane in a queue of registers.

    The proof also claims in which slots of the storage the queued flits are. The induction needs this invariant.

    Parameters
    ----------
    buffer : VLBuffer
        The component.
    """

    statements: ClassVar = {
        "order": "Every output equals that of a queue for each lane: written flits appear in order and unchanged "
        "until they are removed; none is lost, duplicated or swapped.",
        "storage": VLBufferProperties.statements["storage"],
        "bounds": VLBufferProperties.statements["bounds"],
        "lists": "The flits of a lane are in the slots of its linked list, in order, or in consecutive slots of its "
        "own part.",
        "totals": VLBufferProperties.statements["totals"],
        "own-place": "Each slot of a shared storage either belongs to one flit, is free once, or has not been used "
        "since reset.",
    }
    unfolds_memories = True
    any_memory = True

    def __init__(self, buffer: Any) -> None:
        super().__init__()
        self.buffer, self.m = buffer, Module()

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return free_inputs(self.buffer)

    def elaborate(self, _platform: object) -> Module:
        m, b = self.m, self.buffer
        m.submodules.buffer = fragment = Fragment.get(b, None)
        self.stored = memory_entries(fragment, "storage")
        account = BufferModel(m, b)
        for output, value in account.outputs:
            self.claim(m, "order", output == value)
        self.claim(m, "storage", account.promised <= b.flits)
        claim_totals(self, m, b, account.used, account.promised)
        for held, used in zip(account.held, account.used, strict=True):
            self.claim(m, "bounds", (used <= b.maximum) & (held <= used))
        if b.form == "shared":
            self._lists(account, fragment)
        else:
            self._parts(account, fragment)
        return m

    def _lists(self, account: BufferModel, fragment: Fragment) -> None:
        """Claim which slots the linked lists occupy, and which slots are free."""
        m, b, claim = self.m, self.buffer, self.claim
        links, recycled = (memory_entries(fragment, name) for name in ("links", "recycled"))
        slots = account.queues(
            "slots", [inner_signal(fragment, f"place_{number}") for number in range(len(account.kept))]
        )
        taken: list[tuple[Value, Value]] = []
        for vl, (held, queue, flits) in enumerate(zip(account.held, slots, account.flits, strict=True)):
            last = inner_signal(fragment, f"last_{vl}")
            claim(m, "lists", inner_signal(fragment, f"first_{vl}") == queue[0], when=held != 0)
            for place, (slot, flit) in enumerate(zip(queue, flits, strict=True)):
                claim(m, "lists", Array(self.stored)[slot] == flit, when=held > place)
                claim(m, "lists", last == slot, when=held == place + 1)
                if place + 1 < b.maximum:
                    claim(m, "lists", Array(links)[slot] == queue[place + 1], when=held > place + 1)
                taken.append((held > place, slot))
        oldest, newest, fresh = (inner_signal(fragment, name) for name in ("oldest", "newest", "fresh"))
        freed = Signal(16, name="freed")
        m.d.comb += freed.eq(fresh - sum(account.held))
        claim(m, "own-place", (fresh <= b.flits) & (oldest < b.flits) & (newest < b.flits) & (freed <= b.flits))
        claim(m, "own-place", newest == wrapped(oldest + freed, b.flits))
        for number, place in enumerate(recycled):
            taken.append((wrapped(b.flits + number - oldest, b.flits) < freed, place))
        for slot in range(b.flits):
            users = sum(there & (place == slot) for there, place in taken)
            claim(m, "own-place", users == (fresh > slot))

    def _parts(self, account: BufferModel, fragment: Fragment) -> None:
        """Claim which slots the lanes' ring buffers occupy."""
        m, b, claim = self.m, self.buffer, self.claim
        for vl, (held, flits) in enumerate(zip(account.held, account.flits, strict=True)):
            first, behind = inner_signal(fragment, f"first_{vl}"), inner_signal(fragment, f"after_last_{vl}")
            claim(m, "lists", (first < b.maximum) & (behind == wrapped(first + held, b.maximum)))
            for place, flit in enumerate(flits):
                where = vl * b.maximum + wrapped(first + place, b.maximum)
                claim(m, "lists", Array(self.stored)[where] == flit, when=held > place)


_ONE = {"writers": 1, "readers": 1, "write_flits": 1, "read_flits": 1, "data_bits": 1}
_MANY = {"writers": 2, "readers": 2, "write_flits": 2, "read_flits": 2, "data_bits": 1}
_TINY = {"vls": 2, "flits": 3, "minimum": 1, "maximum": 2, "mtu_flits": 1}
_PARTS = {"vls": 2, "flits": 4, "minimum": 2, "maximum": 2, "mtu_flits": 1}
_SINGLE = {"vls": 2, "flits": 2, "minimum": 1, "maximum": 1, "mtu_flits": 1, "form": "static"}
INSTANCES = (
    Instance("small", VLBufferProperties, {**_TINY, **_ONE, "form": "shared"}),
    Instance(
        "small-two-ports",
        VLBufferProperties,
        {"vls": 3, "flits": 8, "minimum": 1, "maximum": 5, "mtu_flits": 2, **_MANY, "form": "shared"},
    ),
    Instance("static", VLBufferProperties, {**_PARTS, **_ONE, "form": "static"}),
    Instance(
        "shared",
        VLBufferProperties,
        {"vls": 3, "flits": 16, "minimum": 2, "maximum": 9, "mtu_flits": 3, **_ONE, "form": "shared"},
    ),
    Instance("queues-shared", QueueProperties, {**_TINY, **_ONE, "form": "shared"}),
    Instance("queues-static", QueueProperties, {**_PARTS, **_ONE, "form": "static"}),
    Instance(
        "queues-static-wrap",
        QueueProperties,
        {**_PARTS, **_ONE, "flits": 6, "minimum": 3, "maximum": 3, "mtu_flits": 2, "read_flits": 3, "form": "static"},
    ),
    Instance("queues-two-ports", QueueProperties, {**_TINY, **_MANY, "form": "shared"}),
    Instance(
        "queues-of-five",
        QueueProperties,
        {**_TINY, **_ONE, "flits": 5, "minimum": 2, "maximum": 3, "mtu_flits": 2, "form": "shared"},
    ),
    Instance(
        "queues-faster-input", QueueProperties, {**_PARTS, **_ONE, "mtu_flits": 2, "read_flits": 2, "form": "static"}
    ),
    Instance(
        "queues-faster-output", QueueProperties, {**_PARTS, **_ONE, "mtu_flits": 2, "write_flits": 2, "form": "static"}
    ),
    Instance("queues-opa-input", QueueProperties, {**_SINGLE, **_ONE, "read_flits": 3}),
    Instance("queues-opa-output", QueueProperties, {**_SINGLE, **_ONE, "writers": 2, "write_flits": 3}),
    Instance("queues-opa-centre", QueueProperties, {**_SINGLE, **_MANY, "write_flits": 3, "read_flits": 3}),
    Instance("queues-centre", QueueProperties, {**_TINY, **_MANY, "write_flits": 3, "read_flits": 3, "form": "shared"}),
)
"""Proven instances: counts by induction; then queues, also in the shapes that proofs of whole switches use."""
