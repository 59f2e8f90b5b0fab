"""Two-step allocation of Omni-Path: MPort inputs and read ports, then outputs and central links, round robin."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.round_robin import RoundRobin
from vlane.hdl.common.select import bit_of, equals, one_of
from vlane.hdl.links.link import lane_shape
from vlane.parameters import check_range
from vlane.switches.mports import MPORT, OPA_PORTS, READERS, mports_of, ports_of

_MAX_VLS = 32


class OPAAllocator(wiring.Component):
    """Select the packets that cross from the next cycle on (``docs/opa_switch.md``, OPAS-1 to OPAS-5, OPAS-8).

    Latency 0. After reset VL 0, input 0 and the first read port are first. ``mports`` is the number of MPorts; read
    port r of MPort m has the number 2 * m + r.

    Parameters
    ----------
    ports : int
        Number of inputs, and of outputs, 2 to 48.
    vls : int
        Number of lanes, 2 to 32.

    Members
    -------
    valid : In(ArrayLayout(vls, ports))
        By input, one bit per lane: the first packet takes part in the allocation.
    drop : In(ArrayLayout(vls, ports))
        By input, one bit per lane: the first packet is to be dropped.
    output : In(ArrayLayout(range(ports), ports * vls))
        By input and lane: output of the first packet.
    outgoing_vl : In(ArrayLayout(lane_shape(vls), ports * vls))
        By input and lane: outgoing lane of the first packet.
    input_free : In(ports)
        Inputs that take part in the allocation.
    local_free : In(ports)
        Outputs whose local write port is free.
    central_free : In(ports)
        Outputs whose central write port is free.
    room : In(ArrayLayout(vls, ports))
        By output, one bit per lane: no write port is filling it, and it has space for a largest packet.
    link_free : In(mports)
        By MPort: at least one of its central links is free.
    central_room : In(ArrayLayout(vls, mports))
        By central buffer, one bit per lane: no link is filling it, and it has space for a largest packet.
    stored : In(ArrayLayout(vls, mports))
        By central buffer and lane: the first packet takes part in the allocation.
    stored_output : In(ArrayLayout(range(ports), mports * vls))
        By central buffer and lane: output of the first packet.
    reader_free : In(2 * mports)
        Read ports that take part in the allocation.
    reading : In(ArrayLayout(vls, 2 * mports))
        By read port: the lane that it is still reading, one-hot.
    granted : Out(ports)
        Inputs whose packet crosses, or is dropped, from the next cycle on.
    lane : Out(ArrayLayout(vls, ports))
        By input: selected lane, one-hot.
    source : Out(ArrayLayout(4 + 2 * mports, ports))
        By output: the accepted packet's source, one-hot: the inputs of the MPort, then all read ports.
    central_source : Out(ArrayLayout(4, mports))
        By central buffer: input of its MPort whose packet it accepts, one-hot.
    reader_granted : Out(2 * mports)
        Read ports whose packet crosses from the next cycle on.
    reader_lane : Out(ArrayLayout(vls, 2 * mports))
        By read port: selected lane, one-hot.

    Raises
    ------
    TypeError
        If a parameter has the wrong type.
    ValueError
        If a parameter is out of range.
    """

    latency = 0

    def __init__(self, *, ports: int, vls: int) -> None:
        check_range("ports", ports, 2, OPA_PORTS)
        check_range("vls", vls, 2, _MAX_VLS)
        self.ports, self.vls, self.mports = ports, vls, mports_of(ports)
        by_port, by_mport = data.ArrayLayout(vls, ports), data.ArrayLayout(vls, self.mports)
        readers = READERS * self.mports
        super().__init__(
            {
                "valid": In(by_port),
                "drop": In(by_port),
                "output": In(data.ArrayLayout(range(ports), ports * vls)),
                "outgoing_vl": In(data.ArrayLayout(lane_shape(vls), ports * vls)),
                "input_free": In(ports),
                "local_free": In(ports),
                "central_free": In(ports),
                "room": In(by_port),
                "link_free": In(self.mports),
                "central_room": In(by_mport),
                "stored": In(by_mport),
                "stored_output": In(data.ArrayLayout(range(ports), self.mports * vls)),
                "reader_free": In(readers),
                "reading": In(data.ArrayLayout(vls, readers)),
                "granted": Out(ports),
                "lane": Out(by_port),
                "source": Out(data.ArrayLayout(MPORT + readers, ports)),
                "central_source": Out(data.ArrayLayout(MPORT, self.mports)),
                "reader_granted": Out(readers),
                "reader_lane": Out(data.ArrayLayout(vls, readers)),
            }
        )
        self.wants_local = [Signal(MPORT, name=f"wants_local_{port}") for port in range(ports)]
        self.wants_centre = [Signal(name=f"wants_centre_{port}") for port in range(ports)]
        self.drops = [Signal(name=f"drops_{port}") for port in range(ports)]
        self.reader_wants = [Signal(ports, name=f"reader_wants_{reader}") for reader in range(readers)]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        for mport in range(self.mports):
            for port in ports_of(mport, self.ports):
                self._input_chooses(m, mport, port)
        central_takes = Signal(data.ArrayLayout(self.ports, self.vls))
        m.d.comb += [
            central_takes[lane].eq(Cat(self.room[port][lane] for port in range(self.ports)) & self.central_free)
            for lane in range(self.vls)
        ]
        for mport in range(self.mports):
            self._readers_choose(m, mport, central_takes)
        for mport in range(self.mports):
            for output in ports_of(mport, self.ports):
                self._output_grants(m, mport, output)
            self._centre_grants(m, mport)
        self._tell(m)
        return m

    def _input_chooses(self, m: Module, mport: int, port: int) -> None:
        """Select an input's lane, and request its output or a central link (OPAS-1)."""
        outputs = ports_of(mport, self.ports)
        places = range(port * self.vls, (port + 1) * self.vls)
        m.submodules[f"lanes_{port}"] = turns = RoundRobin(self.vls)
        stride = (self.vls - 1).bit_length()
        padded = Const(0, (1 << stride) - self.vls)
        local = Signal(MPORT << stride, name=f"local_takes_{port}")
        m.d.comb += local.eq(Cat(Cat(Mux(self.local_free[each], self.room[each], 0), padded) for each in outputs))
        able = []
        for lane, place in enumerate(places):
            output, outgoing_vl = Value.cast(self.output[place]), self.outgoing_vl[place]
            is_local = equals(output[2:], mport)
            through = bit_of(Mux(self.link_free[mport], self.central_room[mport], 0), outgoing_vl)
            here = bit_of(local, Cat(outgoing_vl, _within(output)))
            able.append(self.drop[port][lane] | Mux(is_local, here, through))
        output = Signal(range(self.ports), name=f"output_{port}")
        m.d.comb += [
            turns.eligible.eq(Mux(self.input_free[port], self.valid[port] & Cat(able), 0)),
            turns.served.eq(self.granted[port]),
            self.lane[port].eq(turns.chosen),
            self.drops[port].eq((turns.chosen & self.drop[port]).any()),
            output.eq(one_of(turns.chosen, (self.output[place] for place in places))),
        ]
        with m.If(turns.found & ~self.drops[port]):
            with m.If(equals(output[2:], mport)):
                m.d.comb += self.wants_local[port].eq(1 << _within(output))
            with m.Else():
                m.d.comb += self.wants_centre[port].eq(1)

    def _readers_choose(self, m: Module, mport: int, takes: Signal) -> None:
        """Select the lanes of a central buffer's read ports, the first port before the second (OPAS-2)."""
        places = range(mport * self.vls, (mport + 1) * self.vls)
        able = Cat(
            bit_of(takes[lane], self.stored_output[place]) & self.stored[mport][lane]
            for lane, place in enumerate(places)
        )
        taken: Value = Const(0, self.vls)
        for reader in range(READERS * mport, READERS * (mport + 1)):
            m.submodules[f"reader_{reader}"] = turns = RoundRobin(self.vls)
            others = [self.reading[each] for each in range(READERS * mport, READERS * (mport + 1)) if each != reader]
            output = Signal(range(self.ports), name=f"reader_output_{reader}")
            m.d.comb += [
                turns.eligible.eq(Mux(self.reader_free[reader], able & ~taken & ~reduce(or_, others), 0)),
                turns.served.eq(self.reader_granted[reader]),
                self.reader_lane[reader].eq(turns.chosen),
                output.eq(one_of(turns.chosen, (self.stored_output[place] for place in places))),
                self.reader_wants[reader].eq(Mux(turns.found, 1 << output, 0)),
            ]
            taken = taken | turns.chosen

    def _output_grants(self, m: Module, mport: int, output: int) -> None:
        """Grant an output to one of its MPort's inputs or to a read port (OPAS-3)."""
        m.submodules[f"output_{output}"] = turns = RoundRobin(MPORT + len(self.reader_wants))
        local = [self.wants_local[port][output % MPORT] for port in ports_of(mport, self.ports)]
        absent = [Const(0, 1)] * (MPORT - len(local))
        central = [wants[output] for wants in self.reader_wants]
        m.d.comb += [
            turns.eligible.eq(Cat(*local, *absent, *central)),
            turns.served.eq(turns.found),
            self.source[output].eq(turns.chosen),
        ]

    def _centre_grants(self, m: Module, mport: int) -> None:
        """Grant an MPort's central links to one of its inputs (OPAS-4)."""
        m.submodules[f"centre_{mport}"] = turns = RoundRobin(MPORT)
        m.d.comb += [
            turns.eligible.eq(Cat(self.wants_centre[port] for port in ports_of(mport, self.ports))),
            turns.served.eq(turns.found),
            self.central_source[mport].eq(turns.chosen),
        ]

    def _tell(self, m: Module) -> None:
        """Drive the grants of inputs and read ports."""
        for mport in range(self.mports):
            outputs = ports_of(mport, self.ports)
            for port in outputs:
                place = port % MPORT
                taken = Cat(self.source[output][place] for output in outputs).any()
                m.d.comb += self.granted[port].eq(self.drops[port] | taken | self.central_source[mport][place])
        for reader in range(READERS * self.mports):
            taken = Cat(self.source[output][MPORT + reader] for output in range(self.ports)).any()
            m.d.comb += self.reader_granted[reader].eq(taken)


def _within(output: Value) -> Value:
    """Return an output's number within its MPort, 2 bits."""
    return (output | Const(0, 2))[:2]
