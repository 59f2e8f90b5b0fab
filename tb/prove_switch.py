"""What is proven of switches of both kinds: the room that senders count is kept to."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Module, Mux, Signal, Value

__all__ = ["at_most_one", "prove_room"]


def at_most_one(bits: Value) -> Value:
    """Return whether no two bits are set."""
    return (bits & (bits - 1)) == 0


def prove_room(m: Module, room: Any) -> None:
    """Assert that what is taken of a far buffer keeps each maximum, and leaves every lane its minimum."""
    beyond = Signal(16, name="beyond_in_all")
    m.d.comb += beyond.eq(sum(Mux(used > room.minimum, used - room.minimum, 0) for used in room.used))
    m.d.comb += [
        *(Assert(used <= room.maximum) for used in room.used),
        Assert(room.beyond == beyond),
        Assert(beyond <= room.shared),
    ]
