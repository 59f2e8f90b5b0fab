"""Look-up of a destination LID in the linear forwarding table."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, Signature
from vlane.hdl.parameters import check_range

from vlane.lft import FIRST_MULTICAST, MAX_ENTRIES, MAX_PORTS, PERMISSIVE, UNASSIGNED, LFTCause

__all__ = ["LFT", "LFTProgramSignature"]

_MAX_LOOKUPS = 64


class LFTProgramSignature(Signature):
    """Write port of the table, seen from whoever programs it.

    Members
    -------
    enable : Out(1)
        Write in this cycle; it holds from the next one on.
    top : Out(1)
        Write the top of the table, from ``lid``, not an entry.
    lid : Out(16)
        The entry, or the last LID that is looked up; an entry that is not there writes nothing.
    port : Out(8)
        Output of the LID; 255 leads nowhere.
    """

    def __init__(self) -> None:
        super().__init__({"enable": Out(1), "top": Out(1), "lid": Out(16), "port": Out(8)})


class LFT(wiring.Component):
    """Output port by destination LID (IBA 14.2.5.10; ``docs/lft.md``).

    Latency 0: ``lookups`` destinations per cycle. The entries are memory: power-on leads nowhere, reset leaves
    them and sets the top to 0, so that nothing is routed.

    Parameters
    ----------
    lookups : int
        Destinations per cycle, 1 to 64.
    ports : int
        Ports of the switch, 1 to 254, port 0 beside them.
    entries : int
        LIDs the table holds, from 0 on, 2 to 49152.

    Members
    -------
    dlid : In(ArrayLayout(16, lookups))
        Destinations.
    port : Out(ArrayLayout(8, lookups))
        Their outputs; 255 if dropped.
    drop : Out(lookups)
        They must be discarded.
    cause : Out(ArrayLayout(LFTCause, lookups))
        Why.
    program : In(LFTProgramSignature())
        Writes entries and the top, at any time.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If it is out of range.
    """

    latency = 0

    def __init__(self, *, lookups: int = 8, ports: int = 8, entries: int = 1024) -> None:
        self.check_parameters(lookups=lookups, ports=ports, entries=entries)
        self.lookups, self.ports, self.entries = lookups, ports, entries
        super().__init__(
            {
                "dlid": In(data.ArrayLayout(16, lookups)),
                "port": Out(data.ArrayLayout(8, lookups)),
                "drop": Out(lookups),
                "cause": Out(data.ArrayLayout(LFTCause, lookups)),
                "program": In(LFTProgramSignature()),
            }
        )
        self.top = Signal(16)
        self.read: list[Value] = []

    @staticmethod
    def check_parameters(*, lookups: int, ports: int, entries: int) -> None:
        """Raise what the constructor would raise, without making anything."""
        check_range("lookups", lookups, 1, _MAX_LOOKUPS)
        check_range("ports", ports, 1, MAX_PORTS)
        check_range("entries", entries, 2, MAX_ENTRIES)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        memory = Memory(shape=unsigned(8), depth=self.entries, init=[UNASSIGNED] * self.entries)
        m.submodules.ports = memory
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
            self.read.append(reader.data)
            dlid, cause = self.dlid[index], Signal(LFTCause, name=f"cause_{index}")
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
                self.port[index].eq(Mux(permissive, 0, Mux(self.drop[index], UNASSIGNED, reader.data))),
            ]
        return m
