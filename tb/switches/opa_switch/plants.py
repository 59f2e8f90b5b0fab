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
        "The turn of a read port's lanes never moves, so that the lowest lane that is stored is always read first.",
        _ALLOCATOR,
        "turns.served.eq(self.reader_granted[reader]),",
        "turns.served.eq(0),",
        instance="allocation",
    ),
    Plant(
        "both-readers-read-a-lane",
        "The second read port picks the lane that the first one picked in the same cycle.",
        _ALLOCATOR,
        "taken = taken | turns.chosen",
        "taken = taken | 0",
        instance="allocation",
    ),
    Plant(
        "centre-without-room",
        "A packet is granted a central link whether or not the central buffer has room for it.",
        _ALLOCATOR,
        "through = bit_of(Mux(self.link_free[mport], self.central_room[mport], 0), outgoing_vl)",
        "through = self.link_free[mport] & bit_of(self.valid[port] | ~self.valid[port], outgoing_vl)",
        instance="allocation",
    ),
    Plant(
        "two-packets-interleave",
        "A write port is free while its packet is still coming, so that another packet's flits come between.",
        _WRITE_PORT,
        "self.free.eq(~busy | self.ends),",
        "self.free.eq(1),",
        instance="write-port",
    ),
    Plant(
        "wrong-lane-behind-15",
        "The lanes behind VL 15 are numbered as if there were a lane 15.",
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
        "The highest bit of the channel is not written into the header of a packet that leaves.",
        _LINK,
        'return _with(_with(data, "vl", channel[:4]), "channel_top", channel[4])',
        'return _with(data, "vl", channel[:4])',
        instance="input",
    ),
    Plant(
        "return-lost-with-a-take",
        "A return is lost when it meets a packet of its lane that starts in the same cycle.",
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
        "Outputs take packets from the central buffer of the first MPort only.",
        _SWITCH,
        "take_crossing(m, write_ports[_CENTRAL], [(equals(each.to, number), each) for each in reads])",
        "take_crossing(m, write_ports[_CENTRAL], [(equals(each.to, number), each) for each in reads[:READERS]])",
        instance="delivery",
    ),
    Plant(
        "output-of-another-mport",
        "An output takes what crosses from its MPort to the output of the same place in another MPort, too.",
        _SWITCH,
        "take_crossing(m, write_ports[_LOCAL], [(equals(each.to, number), each) for each in mine])",
        "take_crossing(m, write_ports[_LOCAL], [(equals(each.to[:2], number % MPORT), each) for each in mine])",
        instance="delivery",
    ),
)
"""Each changes one line."""
