"""Planted bugs of the InfiniBand switch."""

from __future__ import annotations

from vlane.tb.plants.plant import Plant

__all__ = ["PLANTS"]

_ROOM, _LIMITS, _TELLS = "hdl/links/room.py", "hdl/links/fcp_limits.py", "hdl/links/fcp_round_robin.py"
_TURNS, _ALLOCATOR = "hdl/common/round_robin.py", "hdl/switches/allocator.py"
_INPUT, _OUTPUT, _SWITCH = (f"hdl/switches/{name}.py" for name in ("switch_input", "switch_output", "switch"))
_FCP = {"credit": "fcp", "minimum": 4, "maximum": 4}
PLANTS = (
    Plant(
        "return-lost-with-a-take",
        "A return is lost when it meets a packet of its lane that starts in the same cycle.",
        _ROOM,
        "used_next.eq(used + Mux(self.take[vl], self.take_blocks, 0) - back),",
        "used_next.eq(used + Mux(self.take[vl], self.take_blocks, 0 - back)),",
        instance="room",
    ),
    Plant(
        "packets-never-counted",
        "With flow-control packets the blocks of packets that start are never counted.",
        _LIMITS,
        "sender.grant.eq(self.take),",
        "sender.grant.eq(0),",
        instance="limits",
        parameters=_FCP,
    ),
    Plant(
        "turns-never-advance",
        "The turns of the allocation never advance: the search always begins with the first requester.",
        _TURNS,
        "m.d.sync += last.eq(search.entry)",
        "m.d.sync += last.eq(last)",
        instance="allocation",
    ),
    Plant(
        "lane-turn-moves-without-a-grant",
        "The turn of an input's lanes moves when one asks, also if its output takes another input.",
        _ALLOCATOR,
        "turns.served.eq(self.granted[port]),",
        "turns.served.eq(turns.found),",
        instance="allocation",
    ),
    Plant(
        "busy-output-is-granted",
        "An output whose packet is still crossing is granted to another input.",
        _ALLOCATOR,
        "Cat(Mux(self.output_free[output], self.room[output], 0), Const(0, stride - self.vls))",
        "Cat(self.room[output], Const(0, stride - self.vls))",
        instance="allocation",
    ),
    Plant(
        "limit-without-what-just-came-free",
        "A flow-control packet's limit leaves out the block that came free in the cycle before.",
        _TELLS,
        "m.d.sync += before.eq(offer.limits[vl])",
        "m.d.sync += before.eq(before)",
        instance="tells",
        parameters=_FCP,
    ),
    Plant(
        "dropped-flits-not-returned",
        "Flits of a packet that drops are not returned to the sender.",
        _INPUT,
        "m.d.comb += left.eq(Mux(busy, moves, 0))",
        "m.d.comb += left.eq(Mux(busy & ~packet.drop, moves, 0))",
        instance="input",
    ),
    Plant(
        "next-packet-cuts-in",
        "A packet starts while another one is still on the link.",
        _OUTPUT,
        "is_free.eq(~sending & self.ready),",
        "is_free.eq(self.ready),",
        instance="output",
    ),
    Plant(
        "fcp-beside-a-packet",
        "A packet starts in the cycle in which a flow-control packet takes the link.",
        _OUTPUT,
        "scheduler.ready.eq(is_free & ~self._tell(m, is_free)),",
        "scheduler.ready.eq(is_free | self._tell(m, is_free)),",
        instance="output-fcp",
        parameters=_FCP,
    ),
    Plant(
        "port-0-told-as-unknown",
        "A packet for port 0 drops for the cause of an unknown LID.",
        _SWITCH,
        "m.d.comb += port.cause.eq(DropCause.PORT_0)",
        "m.d.comb += port.cause.eq(DropCause.UNKNOWN_LID)",
        instance="connections",
    ),
)
"""Each changes one line."""
