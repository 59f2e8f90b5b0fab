"""Omni-Path maps between service levels, service channels and virtual lanes."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, Signature

from vlane.egress import MAX_SCHEDULER_VLS
from vlane.hdl.common.select import equals
from vlane.tables.sc import SC15, SC_COUNT, SCParameters, SCTable

__all__ = ["SC", "SCProgramSignature"]

_PORT_BITS = 6
_SC_BITS = 5


class SCProgramSignature(Signature):
    """Write port of the maps, seen from its driver.

    Members
    -------
    enable : Out(1)
        Write in this cycle; the new value is in force from the next cycle on.
    table : Out(SCTable)
        Table to write; 5 to 7 write nothing.
    ingress : Out(6)
        Ingress port, for SC2SC and SC2VL_nt. Writes for an absent port are ignored.
    egress : Out(6)
        Egress port, for SC2SC and SC2VL_t. Writes for an absent port are ignored.
    index : Out(5)
        Level or channel whose entry is written.
    value : Out(5)
        New value: channel, level or lane.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "enable": Out(1),
                "table": Out(SCTable),
                "ingress": Out(_PORT_BITS),
                "egress": Out(_PORT_BITS),
                "index": Out(_SC_BITS),
                "value": Out(_SC_BITS),
            }
        )


class SC(wiring.Component):
    """Tables SL2SC, SC2SL, SC2SC, SC2VL_t and SC2VL_nt of a device (``docs/sc.md``).

    Latency 0. In each cycle every port looks up one arriving and one forwarded packet, and the device one injected and
    one received packet. The tables are kept in memory: at power-on each value maps to itself, and reset preserves them.

    Parameters
    ----------
    parameters : SCParameters
        Shape of the component.

    Members
    -------
    channel : In(ArrayLayout(5, ports))
        Channel of the packet that arrived at each port.
    egress : In(ArrayLayout(6, ports))
        Output port of that packet.
    vl_in : Out(ArrayLayout(5, ports))
        Lane on which that packet is queued, from SC2VL_nt; 0 if invalid.
    invalid_in : Out(ports)
        The channel of that packet has no lane at this port.
    channel_out : Out(ArrayLayout(5, ports))
        Channel with which that packet leaves, from SC2SC; 0 if it is dropped.
    vl : Out(ArrayLayout(5, ports))
        Lane on which that packet leaves, from SC2VL_t of its egress; 0 if it is dropped.
    drop : Out(ports)
        That packet must be discarded.
    inject_sl : In(5)
        Service level of a packet at its source.
    inject_sc : Out(5)
        Channel of that level, from SL2SC; 0 if it is dropped.
    inject_drop : Out(1)
        The level is mapped to SC15: the packet must be discarded.
    receive_sc : In(5)
        Channel of a packet at its destination.
    receive_sl : Out(5)
        Service level of that channel, from SC2SL.
    program : In(SCProgramSignature())
        Write port of the entries, usable at any time.
    """

    latency = 0

    def __init__(self, parameters: SCParameters) -> None:
        self.parameters = p = parameters
        self.ports, self.data_vls = p.ports, p.data_vls
        self.tables: dict[str, Memory] = {}
        channels = data.ArrayLayout(_SC_BITS, p.ports)
        super().__init__(
            {
                "channel": In(channels),
                "egress": In(data.ArrayLayout(_PORT_BITS, p.ports)),
                "vl_in": Out(channels),
                "invalid_in": Out(p.ports),
                "channel_out": Out(channels),
                "vl": Out(channels),
                "drop": Out(p.ports),
                "inject_sl": In(_SC_BITS),
                "inject_sc": Out(_SC_BITS),
                "inject_drop": Out(1),
                "receive_sc": In(_SC_BITS),
                "receive_sl": Out(_SC_BITS),
                "program": In(SCProgramSignature()),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        program = self.program
        (injected,) = self._table(m, "sl2sc", 1, self._selects(SCTable.SL2SC), program.index, [self.inject_sl])
        (level,) = self._table(m, "sc2sl", 1, self._selects(SCTable.SC2SL), program.index, [self.receive_sc])
        m.d.comb += [
            self.inject_drop.eq(injected == SC15),
            self.inject_sc.eq(Mux(self.inject_drop, 0, injected)),
            self.receive_sl.eq(level),
        ]
        mapped = [self._channel_out(m, port) for port in range(self.ports)]
        lanes = self._table(
            m,
            "sc2vl_t",
            self.ports,
            self._selects(SCTable.SC2VL_T) & (program.egress < self.ports),
            self._address(program.index, program.egress),
            [self._address(mapped[port], self.egress[port]) for port in range(self.ports)],
        )
        for port in range(self.ports):
            self._forward(m, port, mapped[port], lanes[port])
            self._arrive(m, port)
        return m

    def _selects(self, table: SCTable) -> Value:
        return self.program.enable & equals(Value.cast(self.program.table), int(table))

    def _address(self, channel: Value, port: Value) -> Value:
        return channel + (Value.cast(port) << _SC_BITS)

    def _table(self, m: Module, name: str, rows: int, enable: Value, where: Value, reads: list[Value]) -> list[Value]:
        """Add a table of 32 entries per row, identity at power-on, and return the data read at each address."""
        memory = Memory(shape=unsigned(_SC_BITS), depth=rows * SC_COUNT, init=list(range(SC_COUNT)) * rows)
        m.submodules[name] = memory
        self.tables[name] = memory
        writer = memory.write_port()
        m.d.comb += [writer.en.eq(enable), writer.addr.eq(where), writer.data.eq(self.program.value)]
        found = []
        for address in reads:
            reader = memory.read_port(domain="comb")
            m.d.comb += reader.addr.eq(address)
            found.append(reader.data)
        return found

    def _channel_out(self, m: Module, port: int) -> Value:
        program = self.program
        here = self._selects(SCTable.SC2SC) & equals(program.ingress, port) & (program.egress < self.ports)
        (mapped,) = self._table(
            m,
            f"sc2sc_{port}",
            self.ports,
            here,
            self._address(program.index, program.egress),
            [self._address(self.channel[port], self.egress[port])],
        )
        return mapped

    def _forward(self, m: Module, port: int, mapped: Value, lane: Value) -> None:
        there = Signal()
        management = Signal()
        m.d.comb += [
            there.eq(self.egress[port] < self.ports),
            management.eq(self.channel[port] == SC15),
            self.drop[port].eq(~there | (~management & ((mapped == SC15) | ~self._is_lane(lane)))),
        ]
        with m.If(~self.drop[port]):
            m.d.comb += [
                self.channel_out[port].eq(Mux(management, SC15, mapped)),
                self.vl[port].eq(Mux(management, SC15, lane)),
            ]

    def _arrive(self, m: Module, port: int) -> None:
        here = self._selects(SCTable.SC2VL_NT) & equals(self.program.ingress, port)
        (lane,) = self._table(m, f"sc2vl_nt_{port}", 1, here, self.program.index, [self.channel[port]])
        management = self.channel[port] == SC15
        m.d.comb += [
            self.invalid_in[port].eq(~management & ~self._is_lane(lane)),
            self.vl_in[port].eq(Mux(management, SC15, Mux(self.invalid_in[port], 0, lane))),
        ]

    def _is_lane(self, vl: Value) -> Value:
        """Return whether a VL is a data lane of the port. Lanes from the 15th on are numbered one higher."""
        if self.data_vls <= SC15:
            return vl < self.data_vls
        if self.data_vls == MAX_SCHEDULER_VLS:
            return vl != SC15
        return (vl <= self.data_vls) & (vl != SC15)


COMPONENT = SC
