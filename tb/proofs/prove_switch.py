"""Proofs of switches of both kinds: senders keep to the room that they count, and every block is returned."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Module, Mux, Signal, Value, unsigned

__all__ = ["at_most_one", "prove_input", "prove_returns", "prove_room"]


def at_most_one(bits: Value) -> Value:
    """Return whether no two bits are set."""
    return (bits & (bits - 1)) == 0


def prove_input(m: Module, allocator: Any, port: int, serves: Value) -> None:
    """Assert that a granted input is free, has the packet, and crosses to one place or to none.

    Parameters
    ----------
    serves : Value
        A bit for each place that takes its packet.
    """
    lane, granted = allocator.lane[port], allocator.granted[port]
    m.d.comb += [
        Assert(~granted | allocator.input_free[port]),
        Assert(~granted | (lane & allocator.valid[port]).any()),
        Assert(at_most_one(lane)),
        Assert(at_most_one(serves)),
        Assert(~serves.any() | granted),
        Assert(~serves.any() | ~(lane & allocator.drop[port]).any()),
    ]


def prove_returns(m: Module, port: Any) -> None:
    """Assert that for each lane of an input the blocks returned are those accepted less those held.

    Counted modulo the next power of two, so that more or less than what is held cannot pass.
    """
    storage, returned = port.storage, port.returned
    for lane in range(storage.vls):
        owed = Signal(unsigned(storage.maximum.bit_length() + 2), name=f"owed_{lane}")
        lets_in = Mux(storage.accepted & (storage.reserve_vl == lane), storage.reserve_flits, 0)
        tells = Mux(returned.vl == lane, returned.blocks, 0)
        m.d.sync += owed.eq(owed + lets_in - tells)
        m.d.comb += [
            Assert(storage.held[lane] <= storage.used[lane]),
            Assert(storage.used[lane] <= storage.maximum),
            Assert(owed == storage.used[lane] + tells),
        ]


def prove_room(m: Module, room: Any) -> None:
    """Assert that the blocks taken of a far buffer keep to each maximum and leave every lane its minimum."""
    beyond = Signal(16, name="beyond_in_all")
    m.d.comb += beyond.eq(sum(Mux(used > room.minimum, used - room.minimum, 0) for used in room.used))
    m.d.comb += [
        *(Assert(used <= room.maximum) for used in room.used),
        Assert(room.beyond == beyond),
        Assert(beyond <= room.shared),
    ]
