"""Proofs of the AXI4-Lite side of a register port, for every master, by induction."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Cat, Module, Signal, Value

from vlane.tb.machinery.proofs.properties import Properties, free_inputs

_UNDER_WAY = range(4)


class AxiLiteProperties(Properties):
    """Check a bus against the properties that the AXI specification requires of a subordinate.

    Parameters
    ----------
    bus : AxiLite
        The component. Its internal signals are observed; nothing in it is changed.
    """

    statements: ClassVar = {
        "answers": "Each response belongs to one request (a write request has an address and a word); there is no "
        "response without a request.",
        "stays": "A response stays valid and unchanged until it is accepted.",
        "writes": "Every write uses the address and the whole word that the master sent, once.",
    }

    def __init__(self, bus: Any) -> None:
        super().__init__()
        self.bus = bus

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return free_inputs(self.bus)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.bus = bus = self.bus
        address = self._count_open(m, "aw", "b", bus.has_address + bus.s_axil_bvalid)
        word = self._count_open(m, "w", "b", bus.has_word + bus.s_axil_bvalid)
        read = self._count_open(m, "ar", "r", bus.has_read + bus.s_axil_rvalid)
        self.claim(m, "answers", (address > 0) & (word > 0), when=bus.s_axil_bvalid)
        self.claim(m, "answers", read > 0, when=bus.s_axil_rvalid)
        self._claim_stable(m, bus.s_axil_bvalid, bus.s_axil_bready, bus.s_axil_bresp)
        self._claim_stable(m, bus.s_axil_rvalid, bus.s_axil_rready, Cat(bus.s_axil_rdata, bus.s_axil_rresp))
        self._writes(m)
        return m

    def _count_open(self, m: Module, asked: str, answered: str, held: Value) -> Signal:
        """Count the unanswered requests."""
        valid, ready = (getattr(self.bus, f"s_axil_{asked}{name}") for name in ("valid", "ready"))
        given, taken = (getattr(self.bus, f"s_axil_{answered}{name}") for name in ("valid", "ready"))
        count = Signal(_UNDER_WAY, name=f"open_{asked}")
        m.d.sync += count.eq(count + (valid & ready) - (given & taken))
        self.claim(m, "answers", count == held)
        return count

    def _claim_stable(self, m: Module, valid: Value, ready: Value, value: Value) -> None:
        waited, was = Signal(), Signal(len(value))
        m.d.sync += [waited.eq(valid & ~ready), was.eq(value)]
        self.claim(m, "stays", valid & (value == was), when=waited)

    def _writes(self, m: Module) -> None:
        bus = self.bus
        address, word, strobes, wrote = Signal.like(bus.write_at), Signal(32), Signal(4), Signal()
        with m.If(bus.s_axil_awvalid & bus.s_axil_awready):
            m.d.sync += address.eq(bus.s_axil_awaddr[2:])
        with m.If(bus.s_axil_wvalid & bus.s_axil_wready):
            m.d.sync += [word.eq(bus.s_axil_wdata), strobes.eq(bus.s_axil_wstrb)]
        m.d.sync += wrote.eq(bus.write)
        self.claim(m, "writes", bus.write_at == address, when=bus.has_address)
        self.claim(m, "writes", (bus.data == word) & (bus.strobes == strobes), when=bus.has_word)
        self.claim(m, "writes", bus.has_address & bus.has_word & strobes.all(), when=bus.write)
        self.claim(m, "writes", bus.s_axil_bvalid & ~bus.write, when=wrote)
