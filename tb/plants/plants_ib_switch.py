"""Planted bugs of the InfiniBand switch."""

from __future__ import annotations

from vlane.tb.plants.plant import Plant

__all__ = ["PLANTS"]

_ROOM, _LIMITS, _TELLS = "hdl/links/room.py", "hdl/links/fcp_limits.py", "hdl/links/fcp_round_robin.py"
_TURNS, _ALLOCATOR = "hdl/common/round_robin.py", "hdl/switches/allocator.py"
_INPUT, _OUTPUT, _SWITCH = (f"hdl/switches/{name}.py" for name in ("switch_input", "sending_output", "switch"))
_AGES, _PAIR_TURNS, _PAIRS, _LANE_INPUT, _LANE_OUTPUT, _LINK = (
    f"hdl/{name}.py"
    for name in (
        "switches/request_ages", "switches/pair_turns", "switches/pair_allocator", "switches/lane_input",
        "switches/lane_output", "links/link",
    )
)  # fmt: skip
_FCP = {"credit": "fcp", "minimum": 4, "maximum": 4}
_APART = {"crossbar": "per_vl", "minimum": 4, "maximum": 4}
_QUEUES = {**_APART, "allocation": "fifo"}
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
    Plant(
        "queue-without-memory",
        "A queue of requests does not remember who joined first.",
        _AGES,
        "m.d.sync += older.eq(now)",
        "m.d.sync += older.eq(older)",
        instance="pair-queues",
        parameters=_QUEUES,
    ),
    Plant(
        "ties-the-wrong-way",
        "Of requests that join in one cycle the last one comes first.",
        _AGES,
        "m.d.comb += now.eq(Mux(joined[number], joined[:number] & older, ~Const(0, number)))",
        "m.d.comb += now.eq(Mux(joined[number], joined[:number] & older, joined[:number]))",
        instance="pair-queues",
        parameters=_QUEUES,
    ),
    Plant(
        "place-is-inherited",
        "The packet behind one that was served takes over its place in the queue.",
        _AGES,
        "m.d.sync += joined.eq(self.there & ~self.served)",
        "m.d.sync += joined.eq(self.there)",
        instance="pair-queues",
        parameters=_QUEUES,
    ),
    Plant(
        "size-of-one-block",
        "A request fits when there is room for one block.",
        _PAIRS,
        "size = self.sizes[pair] if self.queues else self.largest",
        "size = 1",
        instance="pair-queues",
        parameters=_QUEUES,
    ),
    Plant(
        "busy-pair-takes-another",
        "An output's VL to which a packet still crosses takes another one.",
        _PAIRS,
        "m.d.comb += left[self.place_of(pair)].eq(Mux(is_free, self.left[pair], 0))",
        "m.d.comb += left[self.place_of(pair)].eq(Mux(is_free, self.left[pair], self.left[pair]))",
        instance="pair-turns",
        parameters=_APART,
    ),
    Plant(
        "pair-turn-stays",
        "The turn of an output's VL never moves.",
        _PAIR_TURNS,
        "m.d.sync += pointer.eq(self.served[place])",
        "m.d.sync += pointer.eq(pointer)",
        instance="pair-turns",
        parameters=_APART,
    ),
    Plant(
        "lane-drops-not-returned",
        "With a crossbar port per VL flits of a packet that drops are not returned to the sender.",
        _LANE_INPUT,
        "m.d.sync += self.returned.blocks[lane].eq(moves)",
        "m.d.sync += self.returned.blocks[lane].eq(crossing.valid)",
        instance="lane-input",
        parameters=_QUEUES,
    ),
    Plant(
        "lane-free-a-cycle-late",
        "An input's VL does not take part in the cycle in which its last flit crosses.",
        _LANE_INPUT,
        "self.free[lane].eq(~busy | is_last),",
        "self.free[lane].eq(~busy),",
        instance="lane-input",
        parameters=_QUEUES,
    ),
    Plant(
        "flits-of-others-come-in",
        "An output's VL to which no packet crosses takes the flits of the input's VL that it took last.",
        _LANE_OUTPUT,
        "comes.eq(busy & crossing.valid),",
        "comes.eq(crossing.valid),",
        instance="lane-output",
        parameters=_QUEUES,
    ),
    Plant(
        "one-lane-heard",
        "Of several VLs whose blocks come back in a cycle only the lowest counts.",
        _LINK,
        "blocks: Value = returned.blocks[lane]",
        "blocks: Value = returned.blocks[lane] & ~returned.blocks[:lane].any()",
        instance="lane-output",
        parameters=_QUEUES,
    ),
)
"""Each changes one line."""
