"""Planted bugs of the Omni-Path switch."""

from __future__ import annotations

from vlane.schedulers.registry import DEFAULT
from vlane.tb.machinery.plants.plant import Plant

_ALLOCATOR, _CENTRE, _SWITCH = (f"hdl/switches/{name}.py" for name in ("opa_allocator", "centre", "opa_switch"))
_INPUT, _WRITE_PORT, _ROOM = "hdl/switches/switch_input.py", "hdl/switches/write_port.py", "hdl/links/room.py"
_LINK = "hdl/links/link.py"
PLANTS = (
    Plant(
        "reader-turn-never-moves",
        "The round robin of a read port's lanes never advances, so the lowest stored lane is always read first.",
        _ALLOCATOR,
        "turns.served.eq(self.reader_granted[reader]),",
        "turns.served.eq(0),",
        instance="allocation",
    ),
    Plant(
        "both-readers-read-a-lane",
        "The second read port selects the same lane as the first one in the same cycle.",
        _ALLOCATOR,
        "taken = taken | turns.chosen",
        "taken = taken | 0",
        instance="allocation",
    ),
    Plant(
        "centre-without-room",
        "A packet is granted a central link even if the central buffer has no space for it.",
        _ALLOCATOR,
        "through = bit_of(Mux(self.link_free[mport], self.central_room[mport], 0), outgoing_vl)",
        "through = self.link_free[mport] & bit_of(self.valid[port] | ~self.valid[port], outgoing_vl)",
        instance="allocation",
    ),
    Plant(
        "two-packets-interleave",
        "A write port is free while its packet is still arriving, so another packet's flits are interleaved.",
        _WRITE_PORT,
        "self.free.eq(~busy | self.ends),",
        "self.free.eq(1),",
        instance="write-port",
    ),
    Plant(
        "wrong-lane-behind-15",
        "The lanes after VL 15 are numbered as if lane 15 existed.",
        _SWITCH,
        "port.outgoing_vl.eq(lane - (lane > SC15)),",
        "port.outgoing_vl.eq(lane),",
        instance="connections-lanes",
        parameters={
            "scheduler": DEFAULT,
            "ports": 2,
            "data_vls": 17,
            "blocks": 34,
            "minimum": 2,
            "maximum": 2,
            "largest": 2,
            "central_blocks": 34,
            "central_minimum": 2,
            "central_maximum": 2,
        },
    ),
    Plant(
        "channel-without-its-top",
        "The highest bit of the channel is not written into the header of a leaving packet.",
        _LINK,
        'return _with(_with(data, "vl", channel[:4]), "channel_top", channel[4])',
        'return _with(data, "vl", channel[:4])',
        instance="input",
    ),
    Plant(
        "return-lost-with-a-take",
        "A credit return is lost if a packet of its lane starts in the same cycle.",
        _ROOM,
        "used_next.eq(used + Mux(self.take[vl], self.take_blocks, 0) - back),",
        "used_next.eq(used + Mux(self.take[vl], self.take_blocks, 0 - back)),",
        instance="room",
    ),
    Plant(
        "central-lane-open-too-soon",
        "A lane of the central buffer is open while a packet enters it over the second link.",
        _CENTRE,
        "self.room.eq(storage.room & ~(write_ports[0].writes | write_ports[1].writes)),",
        "self.room.eq(storage.room & ~write_ports[0].writes),",
        instance="centre",
    ),
    Plant(
        "reader-free-too-late",
        "A read port is not granted again in the cycle in which its packet's last flit leaves.",
        _CENTRE,
        "self.free[reader].eq(~busy | is_last),",
        "self.free[reader].eq(~busy),",
        instance="centre",
    ),
    Plant(
        "one-centre-is-read",
        "Outputs accept packets only from the central buffer of the first MPort.",
        _SWITCH,
        "take_crossing(m, write_ports[_CENTRAL], [(equals(each.to, number), each) for each in reads])",
        "take_crossing(m, write_ports[_CENTRAL], [(equals(each.to, number), each) for each in reads[:READERS]])",
        instance="delivery",
    ),
    Plant(
        "output-of-another-mport",
        "An output also accepts packets of its MPort's inputs for the output at the same position in another MPort.",
        _SWITCH,
        "take_crossing(m, write_ports[_LOCAL], [(equals(each.to, number), each) for each in mine])",
        "take_crossing(m, write_ports[_LOCAL], [(equals(each.to[:2], number % MPORT), each) for each in mine])",
        instance="delivery",
    ),
)
"""Planted bugs, each a change of one line."""
