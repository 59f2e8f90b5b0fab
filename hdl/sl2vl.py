"""SL to VL mapping: a row of 16 lanes per pair of ports."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, Signature
from vlane.hdl.parameters import check_range
from vlane.hdl.select import equals, one_of

from vlane.sl2vl import SL_COUNT, VL_DROP
from vlane.vlarb import MAX_DATA_VLS

__all__ = ["SL2VL", "SL2VLProgramSignature"]

_MAX_PORTS = 64
_PORT_BITS = 6


class SL2VLProgramSignature(Signature):
    """Write port of the mapping, seen from whoever programs it.

    Members
    -------
    enable : Out(1)
        Write in this cycle; it holds from the next one on.
    every_input : Out(1)
        The row is for every input.
    input : Out(6)
        Otherwise its input; one that is not there gets nothing.
    output : Out(6)
        Its output; one that is not there gets nothing.
    row : Out(64)
        The lane of each SL, 4 bits each, SL 0 lowest; 15 drops.
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
    """Lane of a packet by input, output and service level (IBA 7.6.6; ``docs/sl2vl.md``).

    Latency 0: one look-up per input and cycle. The tables are memory: power-on gives SL modulo ``data_vls``,
    reset leaves them.

    Parameters
    ----------
    inputs, outputs : int
        Ports, 1 to 64 each.
    data_vls : int
        Data lanes, 1 to 15; other lanes in a row are invalid.

    Members
    -------
    output : In(ArrayLayout(6, inputs))
        Where the packet at each input goes.
    sl : In(ArrayLayout(4, inputs))
        Its service level.
    vl : Out(ArrayLayout(4, inputs))
        Its lane; 15 if it is dropped.
    drop : Out(inputs)
        It must be discarded.
    invalid : Out(inputs)
        It is dropped because its lane or output is not there, not because the row says 15.
    program : In(SL2VLProgramSignature())
        Writes rows, at any time.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If it is out of range.
    """

    latency = 0

    def __init__(self, *, inputs: int = 8, outputs: int = 8, data_vls: int = 8) -> None:
        self.check_parameters(inputs=inputs, outputs=outputs, data_vls=data_vls)
        self.inputs, self.outputs, self.data_vls = inputs, outputs, data_vls
        self.read: list[Value] = []
        super().__init__(
            {
                "output": In(data.ArrayLayout(_PORT_BITS, inputs)),
                "sl": In(data.ArrayLayout(4, inputs)),
                "vl": Out(data.ArrayLayout(4, inputs)),
                "drop": Out(inputs),
                "invalid": Out(inputs),
                "program": In(SL2VLProgramSignature()),
            }
        )

    @staticmethod
    def check_parameters(*, inputs: int, outputs: int, data_vls: int) -> None:
        """Raise what the constructor would raise, without making anything."""
        check_range("inputs", inputs, 1, _MAX_PORTS)
        check_range("outputs", outputs, 1, _MAX_PORTS)
        check_range("data_vls", data_vls, 1, MAX_DATA_VLS)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        initial = sum((sl % self.data_vls) << 4 * sl for sl in range(SL_COUNT))
        there = Signal()
        m.d.comb += there.eq(self.program.output < self.outputs)
        for port in range(self.inputs):
            memory = Memory(shape=unsigned(4 * SL_COUNT), depth=self.outputs, init=[initial] * self.outputs)
            m.submodules[f"rows_{port}"] = memory
            writer, reader = memory.write_port(), memory.read_port(domain="comb")
            meant = self.program.every_input | equals(self.program.input, port)
            output = self.output[port]
            m.d.comb += [
                writer.en.eq(self.program.enable & meant & there),
                writer.addr.eq(self.program.output),
                writer.data.eq(self.program.row),
                reader.addr.eq(output),
            ]
            self.read.append(reader.data)
            mapped, served, missing = Signal(4), Signal(), Signal()
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
