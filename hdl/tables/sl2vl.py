"""SL to VL mapping: a row of 16 lanes per (input, output)."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, Signature

from vlane.hdl.common.select import equals, one_of
from vlane.tables.sl2vl import SL_COUNT, VL_DROP, SL2VLParameters

__all__ = ["SL2VL", "SL2VLProgramSignature"]

_PORT_BITS = 6


class SL2VLProgramSignature(Signature):
    """Write port of the mapping, seen from its driver.

    Members
    -------
    enable : Out(1)
        Write in this cycle; the new value is in force from the next cycle on.
    every_input : Out(1)
        Write the row for every input.
    input : Out(6)
        Input whose row is written, without ``every_input``. Writes for an absent input are ignored.
    output : Out(6)
        Output whose row is written. Writes for an absent output are ignored.
    row : Out(64)
        Lanes of the 16 SLs, 4 bits each, SL 0 lowest; 15 drops.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "enable": Out(1),
                "every_input": Out(1),
                "input": Out(_PORT_BITS),
                "output": Out(_PORT_BITS),
                "row": Out(4 * SL_COUNT),
            }
        )


class SL2VL(wiring.Component):
    """Look up lanes by input, output and service level (IBA 7.6.6, ``docs/sl2vl.md``).

    Latency 0: one look-up per input and cycle. Tables are kept in memory: at power-on they map to SL modulo
    ``data_vls``, and reset preserves them.

    Parameters
    ----------
    parameters : SL2VLParameters
        Shape of the component.

    Members
    -------
    out_port : In(ArrayLayout(6, inputs))
        Output port of the packet at each input.
    sl : In(ArrayLayout(4, inputs))
        Service level of that packet.
    vl : Out(ArrayLayout(4, inputs))
        Lane of that packet; 15 if it is dropped.
    drop : Out(inputs)
        That packet must be discarded.
    invalid : Out(inputs)
        That packet is dropped because its lane or output is absent, not because the row holds 15.
    program : In(SL2VLProgramSignature())
        Write port of the rows, usable at any time.
    """

    latency = 0

    def __init__(self, parameters: SL2VLParameters) -> None:
        self.parameters = p = parameters
        self.inputs, self.outputs, self.data_vls = p.inputs, p.outputs, p.data_vls
        self.tables: list[Memory] = []
        super().__init__(
            {
                "out_port": In(data.ArrayLayout(_PORT_BITS, p.inputs)),
                "sl": In(data.ArrayLayout(4, p.inputs)),
                "vl": Out(data.ArrayLayout(4, p.inputs)),
                "drop": Out(p.inputs),
                "invalid": Out(p.inputs),
                "program": In(SL2VLProgramSignature()),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        initial = sum((sl % self.data_vls) << 4 * sl for sl in range(SL_COUNT))
        there = Signal()
        m.d.comb += there.eq(self.program.output < self.outputs)
        for port in range(self.inputs):
            memory = Memory(shape=unsigned(4 * SL_COUNT), depth=self.outputs, init=[initial] * self.outputs)
            m.submodules[f"rows_{port}"] = memory
            self.tables.append(memory)
            writer, reader = memory.write_port(), memory.read_port(domain="comb")
            meant = self.program.every_input | equals(self.program.input, port)
            output = self.out_port[port]
            m.d.comb += [
                writer.en.eq(self.program.enable & meant & there),
                writer.addr.eq(self.program.output),
                writer.data.eq(self.program.row),
                reader.addr.eq(output),
            ]
            mapped = Signal(4)
            served = Signal()
            missing = Signal()
            lanes = (reader.data[4 * sl : 4 * sl + 4] for sl in range(SL_COUNT))
            m.d.comb += [
                mapped.eq(one_of((equals(self.sl[port], sl) for sl in range(SL_COUNT)), lanes)),
                missing.eq(output >= self.outputs),
                served.eq(~missing & (mapped < self.data_vls)),
                self.vl[port].eq(Mux(served, mapped, VL_DROP)),
                self.drop[port].eq(~served),
                self.invalid[port].eq(missing | (~served & (mapped != Const(VL_DROP, 4)))),
            ]
        return m


COMPONENT = SL2VL
