"""AXI4-Lite subordinate that serves one write and one read at a time."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

BUS_PREFIX = "s_axil_"

_WORD_BITS = 32


def axi_lite_members(address_bits: int) -> dict[str, Any]:
    """Return the members of a 32-bit AXI4-Lite bus, named as in the AXI specification with the prefix ``s_axil_``."""
    members = {
        "awaddr": In(address_bits),
        "awprot": In(3),
        "awvalid": In(1),
        "awready": Out(1),
        "wdata": In(_WORD_BITS),
        "wstrb": In(_WORD_BITS // 8),
        "wvalid": In(1),
        "wready": Out(1),
        "bresp": Out(2),
        "bvalid": Out(1),
        "bready": In(1),
        "araddr": In(address_bits),
        "arprot": In(3),
        "arvalid": In(1),
        "arready": Out(1),
        "rdata": Out(_WORD_BITS),
        "rresp": Out(2),
        "rvalid": Out(1),
        "rready": In(1),
    }
    return {f"{BUS_PREFIX}{name}": member for name, member in members.items()}


class AxiLite(wiring.Component):
    """Bus interface of a register port (``docs/register_port.md``, REG-1 to REG-5).

    Parameters
    ----------
    address_bits : int
        Width of a byte address.

    Members
    -------
    s_axil_awaddr : In(address_bits)
        Byte address of a write; its two lowest bits are ignored.
    s_axil_awprot : In(3)
        Ignored.
    s_axil_awvalid : In(1)
        ``s_axil_awaddr`` is valid.
    s_axil_awready : Out(1)
        The address is accepted. Does not depend on ``awvalid``.
    s_axil_wdata : In(32)
        Word of a write.
    s_axil_wstrb : In(4)
        Byte strobes. A write of part of a word is rejected with SLVERR.
    s_axil_wvalid : In(1)
        ``s_axil_wdata`` is valid.
    s_axil_wready : Out(1)
        The word is accepted, before or after its address.
    s_axil_bresp : Out(2)
        Write response: 0 (OKAY), or 2 (SLVERR) if nothing was written.
    s_axil_bvalid : Out(1)
        ``s_axil_bresp`` is valid.
    s_axil_bready : In(1)
        The answer is accepted.
    s_axil_araddr : In(address_bits)
        Byte address of a read; its two lowest bits are ignored.
    s_axil_arprot : In(3)
        Ignored.
    s_axil_arvalid : In(1)
        ``s_axil_araddr`` is valid.
    s_axil_arready : Out(1)
        The address is accepted.
    s_axil_rdata : Out(32)
        Word of a read.
    s_axil_rresp : Out(2)
        Read response: 0 (OKAY), or 2 (SLVERR) with word 0 if no register can be read at the address.
    s_axil_rvalid : Out(1)
        ``s_axil_rdata`` and ``s_axil_rresp`` are valid.
    s_axil_rready : In(1)
        The answer is accepted.
    write : Out(1)
        A whole word is written in this cycle.
    write_at : Out(address_bits - 2)
        Word address of that write.
    data : Out(32)
        Word that is written.
    writable : In(1)
        A register can be written at ``write_at``.
    read_next : Out(address_bits - 2)
        Word address of a read in the next cycle.
    read_at : Out(address_bits - 2)
        Word address of a read.
    found : In(32)
        Contents of the register at ``read_at``.
    readable : In(1)
        A register can be read at ``read_at``.
    """

    def __init__(self, address_bits: int) -> None:
        super().__init__(
            {
                **axi_lite_members(address_bits),
                "write": Out(1),
                "write_at": Out(address_bits - 2),
                "data": Out(_WORD_BITS),
                "writable": In(1),
                "read_next": Out(address_bits - 2),
                "read_at": Out(address_bits - 2),
                "found": In(_WORD_BITS),
                "readable": In(1),
            }
        )
        self.has_address = Signal()
        self.has_word = Signal()
        self.has_read = Signal()
        self.strobes = Signal(_WORD_BITS // 8)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self._write(m)
        self._read(m)
        return m

    def _write(self, m: Module) -> None:
        has_address, has_word, strobes = self.has_address, self.has_word, self.strobes
        answers = Signal()
        m.d.comb += [
            self.s_axil_awready.eq(~has_address),
            self.s_axil_wready.eq(~has_word),
            answers.eq(has_address & has_word & (~self.s_axil_bvalid | self.s_axil_bready)),
            self.write.eq(answers & strobes.all()),
        ]
        with m.If(self.s_axil_awready & self.s_axil_awvalid):
            m.d.sync += [has_address.eq(1), self.write_at.eq(self.s_axil_awaddr[2:])]
        with m.If(self.s_axil_wready & self.s_axil_wvalid):
            m.d.sync += [has_word.eq(1), self.data.eq(self.s_axil_wdata), strobes.eq(self.s_axil_wstrb)]
        with m.If(answers):
            m.d.sync += [
                Cat(has_address, has_word).eq(0),
                self.s_axil_bvalid.eq(1),
                self.s_axil_bresp[1].eq(~(self.writable & strobes.all())),
            ]
        with m.Elif(self.s_axil_bready):
            m.d.sync += self.s_axil_bvalid.eq(0)

    def _read(self, m: Module) -> None:
        answers = Signal()
        m.d.comb += [
            self.s_axil_arready.eq(~self.has_read),
            answers.eq(self.has_read & (~self.s_axil_rvalid | self.s_axil_rready)),
        ]
        m.d.comb += self.read_next.eq(self.read_at)
        m.d.sync += self.read_at.eq(self.read_next)
        with m.If(self.s_axil_arready & self.s_axil_arvalid):
            m.d.comb += self.read_next.eq(self.s_axil_araddr[2:])
            m.d.sync += self.has_read.eq(1)
        with m.If(answers):
            m.d.sync += [
                self.has_read.eq(0),
                self.s_axil_rvalid.eq(1),
                self.s_axil_rdata.eq(self.found),
                self.s_axil_rresp[1].eq(~self.readable),
            ]
        with m.Elif(self.s_axil_rready):
            m.d.sync += self.s_axil_rvalid.eq(0)
