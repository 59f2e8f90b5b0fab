"""Look-up of a destination LID in the linear forwarding table."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, Signature

from vlane.tables.lft import FIRST_MULTICAST, PERMISSIVE, UNASSIGNED, LFTCause, LFTParameters

__all__ = ["LFT", "LFTProgramSignature"]


class LFTProgramSignature(Signature):
    """Write port of the table, seen from its driver.

    Members
    -------
    enable : Out(1)
        Write in this cycle; the new value is in force from the next cycle on.
    top : Out(1)
        Write the top of the table, taken from ``lid``, instead of an entry.
    lid : Out(16)
        LID of the entry, or the new top. Writes to absent entries are ignored.
    port : Out(8)
        Output port of the LID; 255 means unassigned.
    """

    def __init__(self) -> None:
        super().__init__({"enable": Out(1), "top": Out(1), "lid": Out(16), "port": Out(8)})


class LFT(wiring.Component):
    """Look up output ports by destination LID (IBA 14.2.5.10, ``docs/lft.md``).

    Latency 0: ``lookups`` destinations per cycle. Entries are kept in memory: at power-on they are unassigned, and
    reset preserves them. Reset sets the top to 0, so that only the permissive LID is routed.

    Parameters
    ----------
    parameters : LFTParameters
        Shape of the component.

    Members
    -------
    dlid : In(ArrayLayout(16, lookups))
        Destination LIDs.
    out_port : Out(ArrayLayout(8, lookups))
        Output port of each destination; 255 if it is dropped.
    drop : Out(lookups)
        The packet to this destination must be discarded.
    cause : Out(ArrayLayout(LFTCause, lookups))
        Reason of the drop.
    program : In(LFTProgramSignature())
        Write port of entries and top, usable at any time.
    """

    latency = 0

    def __init__(self, parameters: LFTParameters) -> None:
        self.parameters = p = parameters
        self.lookups, self.ports, self.entries = p.lookups, p.ports, p.entries
        super().__init__(
            {
                "dlid": In(data.ArrayLayout(16, p.lookups)),
                "out_port": Out(data.ArrayLayout(8, p.lookups)),
                "drop": Out(p.lookups),
                "cause": Out(data.ArrayLayout(LFTCause, p.lookups)),
                "program": In(LFTProgramSignature()),
            }
        )
        self.top = Signal(16)
        self.tables: list[Memory] = []

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        memory = Memory(shape=unsigned(8), depth=self.entries, init=[UNASSIGNED] * self.entries)
        m.submodules.ports = memory
        self.tables.append(memory)
        writer = memory.write_port()
        writes_entry = self.program.enable & ~self.program.top
        m.d.comb += [
            writer.en.eq(writes_entry & (self.program.lid < self.entries)),
            writer.addr.eq(self.program.lid),
            writer.data.eq(self.program.port),
        ]
        with m.If(self.program.enable & self.program.top):
            m.d.sync += self.top.eq(self.program.lid)
        for index in range(self.lookups):
            reader = memory.read_port(domain="comb")
            dlid = self.dlid[index]
            cause = Signal(LFTCause, name=f"cause_{index}")
            permissive = Signal(name=f"permissive_{index}")
            m.d.comb += [reader.addr.eq(dlid), permissive.eq(dlid == PERMISSIVE)]
            with m.If(permissive):
                m.d.comb += cause.eq(LFTCause.ROUTED)
            with m.Elif(~dlid.any()):
                m.d.comb += cause.eq(LFTCause.RESERVED)
            with m.Elif(dlid >= FIRST_MULTICAST):
                m.d.comb += cause.eq(LFTCause.MULTICAST)
            with m.Elif((dlid > self.top) | (dlid >= self.entries)):
                m.d.comb += cause.eq(LFTCause.ABOVE_TOP)
            with m.Elif(reader.data == UNASSIGNED):
                m.d.comb += cause.eq(LFTCause.UNASSIGNED)
            with m.Elif(reader.data > self.ports):
                m.d.comb += cause.eq(LFTCause.NO_SUCH_PORT)
            m.d.comb += [
                self.cause[index].eq(cause),
                self.drop[index].eq(Value.cast(cause).any()),
                self.out_port[index].eq(Mux(permissive, 0, Mux(self.drop[index], UNASSIGNED, reader.data))),
            ]
        return m


COMPONENT = LFT
