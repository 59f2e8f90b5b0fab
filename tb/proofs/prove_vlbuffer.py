"""Proofs of the VL buffer: room is proven by induction, the delivery of flits up to a depth.

Instances of up to 8 flits follow any one flit from its write to its read, for every sequence of events of up to
``DEPTH`` cycles from reset; larger ones are proven by induction, without that.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Assume, Elaboratable, Module, Mux, Signal, Value
from vlane.tb.proofs.prove import free_inputs
from vlane.tb.proofs.prove_tables import constant

__all__ = ["DEPTH", "INSTANCES", "VLBufferProperties"]

DEPTH = 8
_ONE = {"writers": 1, "readers": 1, "write_flits": 1, "read_flits": 1, "data_bits": 1}
_MANY = {"writers": 2, "readers": 2, "write_flits": 2, "read_flits": 2, "data_bits": 1}
INSTANCES = (
    {"vls": 2, "flits": 3, "minimum": 1, "maximum": 2, "mtu_flits": 1, **_ONE, "form": "shared"},
    {"vls": 2, "flits": 4, "minimum": 2, "maximum": 2, "mtu_flits": 1, **_ONE, "form": "static"},
    {"vls": 4, "flits": 64, "minimum": 8, "maximum": 40, "mtu_flits": 8, **_ONE, "form": "shared"},
    {"vls": 3, "flits": 40, "minimum": 5, "maximum": 20, "mtu_flits": 6, **_MANY, "form": "shared"},
)
"""Parameters of the instances that are proven."""

_FOLLOWED_FLITS = 8


class VLBufferProperties(Elaboratable):
    """The buffer with the properties to prove.

    Parameters
    ----------
    buffer : VLBuffer
        The component.

    Attributes
    ----------
    bounded : int
        Number of cycles from reset of a bounded proof; 0 for a proof by induction.
    """

    def __init__(self, buffer: Any) -> None:
        self.buffer = buffer
        self.bounded = DEPTH if buffer.flits <= _FOLLOWED_FLITS else 0
        self.m = Module()
        self.lane = constant(self.m, "watched_lane", 5, 0, buffer.vls - 1)
        self.mark = Signal()

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.buffer), self.lane, self.mark]

    def elaborate(self, _platform: object) -> Module:
        m, b = self.m, self.buffer
        m.submodules.buffer = b
        in_use, held = Signal(16), Signal(16)
        pool = b.flits - b.vls * b.minimum
        m.d.comb += [
            in_use.eq(sum(Mux(used > b.minimum, used - b.minimum, 0) for used in b.used_now)),
            held.eq(sum(b.held_now)),
            Assert(in_use <= pool),
            Assert(held <= b.flits),
        ]
        for vl in range(b.vls):
            used = b.used_now[vl]
            m.d.comb += [
                Assert(used <= b.maximum),
                Assert(b.held_now[vl] <= used),
                Assert(b.room[vl] | (used + b.mtu_flits > b.minimum)),
            ]
            with m.If((b.reserve_vl == vl) & (b.reserve_flits != 0)):
                m.d.comb += Assert(b.accepted | (used + b.reserve_flits > b.minimum))
                with m.If(b.accepted):
                    m.d.comb += Assert(used + b.reserve_flits <= b.maximum)
        for port in range(b.readers):
            m.d.comb += Assert(b.readable[port] <= b.read_flits)
        if self.bounded:
            self._follow_a_flit(m)
        return m

    def _follow_a_flit(self, m: Module) -> None:
        """Assert that a flit, marked when it is written, is shown at its place in the queue until it is read."""
        b = self.buffer
        following, flit, ahead = Signal(), Signal(b.data_bits), Signal(8)
        held, used, leaving = Signal(8), Signal(8), Signal(8)
        for vl in range(b.vls):
            with m.If(self.lane == vl):
                m.d.comb += [held.eq(b.held_now[vl]), used.eq(b.used_now[vl])]
        takes = [Mux(b.read_vl[port] == self.lane, b.takes[port], 0) for port in range(b.readers)]
        m.d.comb += [
            leaving.eq(sum(takes)),
            Assert(leaving <= held),
            Assume(self.lane < b.vls),
        ]
        starts = self.mark & ~following & (b.write_vl[0] == self.lane) & (b.write_count[0] != 0) & (held < used)
        with m.If(starts):
            m.d.sync += [following.eq(1), flit.eq(b.write_data[0]), ahead.eq(held - leaving)]
        with m.If(following):
            m.d.comb += Assert(ahead < held)
            m.d.sync += [following.eq(ahead >= leaving), ahead.eq(ahead - leaving)]
            for port in range(b.readers):
                for index in range(b.read_flits):
                    with m.If((b.read_vl[port] == self.lane) & (ahead == index)):
                        m.d.comb += [
                            Assert(b.readable[port] > index),
                            Assert(b.read_data[port * b.read_flits + index] == flit),
                        ]
