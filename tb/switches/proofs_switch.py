"""Proofs of the connections between the parts of a switch. The parts are cut out, and their outputs are arbitrary."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Fragment, Module, Value

from vlane.packets.drop_cause import DropCause
from vlane.tb.machinery.proofs.inside import cut_out
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.schedulers.proofs_turns import at_most_one

_DLID = slice(32, 48)
"""Position of the DLID in the local route header, first byte in the most significant bits (IBA 7.7)."""


class SwitchWiringProperties(Properties):
    """Check the connections between the parts of a switch, whose insides are cut out.

    A subclass adds the connections of its kind. Assumptions are the proven properties of the parts: an allocator grants
    at most one packet, of one lane, per place, and at most one packet crosses to a place.

    Parameters
    ----------
    switch : Switch
        The component.
    """

    statements: ClassVar = {
        "look-up": "The forwarding table receives the destination of each head, and the packet is routed to the port "
        "that it returns, which counts from 1 in the table.",
        "cause": "A head is dropped if the table does not know its LID, if it is for port 0, or if there is no VL "
        "for it, in this order, and for no other cause.",
        "lane-map": "The maps receive the head's own SL or channel, its input, and its output; the outgoing lane is "
        "their result.",
        "links": "Each link is that of its port: arriving and leaving flits, the returns both ways, stalls and drops.",
        "programs": "A write of a scheduler's table reaches exactly the selected outputs.",
        "heads": "The allocation receives each lane's own head, and its grants reach the granted input.",
        "sizes": "Every buffer, and every credit counter of a far buffer, has the sizes given by the switch's "
        "parameters.",
        "resources": "The allocation receives the space and the free write ports of each output, and those of each "
        "central buffer.",
        "reserved": "Space is reserved exactly in the buffer that accepts a packet, with the size and on the lane of "
        "that packet.",
        "crossing": "A place accepts exactly the flits of the packet that is for it.",
    }
    depth = 1

    def __init__(self, switch: Any) -> None:
        super().__init__()
        self.switch, self.m = switch, Module()
        parts = [*switch.inputs, *switch.outputs, switch.table, switch.map, switch.allocator]
        parts += [each for each in [getattr(switch, "measure", None)] if each is not None]
        self.free = [each for part in [*parts, *getattr(switch, "centres", [])] for each in cut_out(part)]

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.switch), *self.free]

    def elaborate(self, _platform: object) -> Module:
        m, s = self.m, self.switch
        m.submodules.switch = self.fragment = Fragment.get(s, None)
        for number in range(s.ports):
            self._look_up(m, number)
            self._links(m, number)
            self._heads(m, number)
            for side in (s.inputs[number], s.outputs[number]):
                self._claim_sizes(m, side)
        self._claim_own_properties(m)
        return m

    def _claim_sizes(self, m: Module, side: Any) -> None:
        """Claim the sizes of an input's or an output's buffer."""
        self._claim_buffer_sizes(m, side.storage, "")

    def _claim_buffer_sizes(self, m: Module, storage: Any, kind: str) -> None:
        """Claim the sizes of a buffer."""
        p = self.switch.parameters
        given = [getattr(p, f"{kind}{name}") for name in ("blocks", "minimum", "maximum")]
        has = [storage.flits, storage.minimum, storage.maximum, storage.mtu_flits, storage.vls]
        self.claim(m, "sizes", Value.cast(int(has == [*given, p.largest, p.data_vls])))

    def _claim_own_properties(self, m: Module) -> None:
        """Claim the connections specific to this kind of switch."""
        raise NotImplementedError

    def _mapped_away(self, port_number: int) -> Value:
        """Return whether there is no VL for an input's head."""
        raise NotImplementedError

    def _look_up(self, m: Module, port_number: int) -> None:
        s, claim = self.switch, self.claim
        port, table = s.inputs[port_number], s.table
        found, unknown = table.out_port[port_number], table.drop[port_number]
        claim(m, "look-up", table.dlid[port_number] == port.header[_DLID])
        claim(m, "look-up", port.output + 1 == found, when=(found != 0) & (found <= s.ports))
        cause, away = Value.cast(port.cause), self._mapped_away(port_number)
        claim(m, "cause", cause == int(DropCause.UNKNOWN_LID), when=unknown)
        claim(m, "cause", cause == int(DropCause.PORT_0), when=~unknown & (found == 0))
        claim(m, "cause", cause == int(DropCause.NO_VL), when=~unknown & (found != 0) & away)
        claim(m, "cause", cause == 0, when=~unknown & (found != 0) & ~away)

    def _links(self, m: Module, port_number: int) -> None:
        s = self.switch
        port, output, pairs = s.inputs[port_number], s.outputs[port_number], []
        pairs += [
            (getattr(port.rx, name), getattr(s.rx[port_number], name)) for name in s.rx[port_number].signature.members
        ]
        pairs += [
            (getattr(s.tx[port_number], name), getattr(output.tx, name)) for name in s.tx[port_number].signature.members
        ]
        ends = [(port.returned, "returned"), (output.far_returned, "far_returned")] if output.turns is None else []
        for end, name in ends:
            mine = getattr(s, name)[port_number]
            pairs += [(getattr(mine, each), getattr(end, each)) for each in end.signature.members]
        if output.turns is not None:
            for end, name in ((output.fcp_tx, "fcp_tx"), (output.fcp_rx, "fcp_rx")):
                mine = getattr(s, name)[port_number]
                pairs += [(mine.valid, end.valid), (mine.vl, end.vl), (mine.limit, end.limit)]
            freed, returned = output.freed, port.returned
            pairs += [(getattr(freed, each), getattr(returned, each)) for each in returned.signature.members]
        pairs += [(output.ready, s.ready[port_number]), (Value.cast(s.dropped[port_number]), Value.cast(port.dropped))]
        self.claim(m, "links", Cat(one == other for one, other in pairs).all())
        program = getattr(output.scheduler, "program", None)
        if program is None:
            return
        self.claim(m, "programs", program.enable == (s.schedule.enable & s.schedule_ports[port_number]))
        same = [getattr(program, name) == getattr(s.schedule, name) for name in program.signature.members]
        self.claim(m, "programs", Cat(same).all(), when=program.enable)
        if "swap" in s.signature.members:
            self.claim(m, "programs", output.scheduler.swap == s.swap[port_number])

    def _heads(self, m: Module, port_number: int) -> None:
        s, a = self.switch, self.switch.allocator
        port, vls = s.inputs[port_number], s.geometry.vls
        m.d.comb += Assume(at_most_one(Value.cast(a.lane[port_number])))
        sees = [
            a.valid[port_number] == port.valid,
            a.drop[port_number] == port.drop,
            a.input_free[port_number] == port.free,
            port.granted == a.granted[port_number],
            port.lane == a.lane[port_number],
        ]
        for lane in range(vls):
            sees.append(a.output[port_number * vls + lane] == port.outputs[lane])
            sees.append(a.outgoing_vl[port_number * vls + lane] == port.outgoing_vls[lane])
        self.claim(m, "heads", Cat(sees).all())

    def _reserves(self, m: Module, place: Any, source: Value, packets: list[tuple[Value, Value, Value]]) -> None:
        """Claim the reservation at a place, for packets given as (accepted, size, lane)."""
        m.d.comb += Assume(at_most_one(source))
        for taken, size, lane in packets:
            self.claim(m, "reserved", (place.reserved == size) & (place.reserved_vl == lane), when=taken)
        self.claim(m, "reserved", ~place.reserved.any(), when=~source.any())

    def _of_input(self, taken: Value, port_number: int) -> list[tuple[Value, Value, Value]]:
        """Return the packets that an input may give: (accepted, size, lane)."""
        port, lanes = self.switch.inputs[port_number], range(self.switch.geometry.vls)
        return [(taken & port.lane[lane], port.blocks[lane], port.outgoing_vls[lane]) for lane in lanes]

    def _crosses(self, m: Module, to: Any, arrivals: list[tuple[Value, Any]]) -> None:
        """Claim that the crossing with flits enters. Crossings are given as (is for this place, crossing)."""
        those = Cat(is_for & crossing.count.any() for is_for, crossing in arrivals)
        m.d.comb += Assume(at_most_one(those))
        for number, (_, crossing) in enumerate(arrivals):
            same = [
                Value.cast(getattr(to, name)) == Value.cast(getattr(crossing, name)) for name in to.signature.members
            ]
            self.claim(m, "crossing", Cat(same).all(), when=those[number])
        self.claim(m, "crossing", ~to.count.any(), when=~those.any())
