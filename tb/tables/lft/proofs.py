"""Proofs of the LFT look-up: every LID yields the port written last, or its drop cause."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Module, Signal, Value

from vlane.tables.lft import FIRST_MULTICAST, PERMISSIVE, UNASSIGNED, LFTCause
from vlane.tb.machinery.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.tables.proofs_tables import at, constant, elaborated_module, written_last


class LFTProperties(Properties):
    """Check the look-up against a reference model of one entry and of the top.

    Parameters
    ----------
    lft : LFT
        The component. The proof adds a read port for the watched entry to its memory.
    """

    statements: ClassVar = {
        "entry": "The entry of a LID is the port written last for it, initially 255. Nothing else changes it: no "
        "write of another LID or of the top, and no reset.",
        "top": "The top is the value written last, and 0 after a reset.",
        "while-written": "A look-up in the cycle in which its entry or the top is written uses the old values.",
        "routed": "A LID from 1 to the top whose entry names a port of the device is routed to it, in the same cycle.",
        "permissive": "The permissive LID is routed to port 0, whatever the table and the top are.",
        "reserved": "LID 0 is dropped as reserved.",
        "multicast": "A multicast LID is dropped as multicast, whatever the top is.",
        "above-top": "Any other LID above the top or past the end of the table is dropped as above the top.",
        "unassigned": "A LID up to the top whose entry is 255 is dropped as unassigned.",
        "no-such-port": "A LID up to the top whose entry names an absent port is dropped for this cause.",
        "dropped": "A packet is dropped exactly when its cause is not routed, and its port is then 255.",
    }

    depth = 4  # four cycles from reset contain a look-up after a write of the top and one of an entry

    def __init__(self, lft: Any) -> None:
        super().__init__()
        self.lft = lft
        self.m = Module()
        self.lid = constant(self.m, "watched_lid", 16, 0, lft.entries - 1)
        self.lookup = constant(self.m, "watched_lookup", 6, 0, lft.lookups - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.lft), self.lid, self.lookup]

    def elaborate(self, _platform: object) -> Module:
        m, t, claim = self.m, self.lft, self.claim
        m.submodules.lft = elaborated_module(t)
        program, reader = t.program, t.tables[0].read_port(domain="comb")
        written = Signal()
        m.d.comb += [written.eq(program.enable & ~program.top & (program.lid == self.lid)), reader.addr.eq(self.lid)]
        kept, top = Signal(8), Signal(16)
        m.d.comb += kept.eq(written_last(m, "port", Value.cast(UNASSIGNED), written, program.port))
        with m.If(program.enable & program.top):
            m.d.sync += top.eq(program.lid)
        claim(m, "entry", reader.data == kept)
        claim(m, "top", t.top == top)

        dlid, port, drop, cause = Signal(16), Signal(8), Signal(), Signal(8)
        shown = (t.dlid, t.out_port, t.drop, t.cause)
        for signal, each in zip((dlid, port, drop, cause), shown, strict=True):
            m.d.comb += signal.eq(at([Value.cast(one) for one in each], self.lookup))
        unicast = (dlid != 0) & (dlid < FIRST_MULTICAST)
        above = (dlid > top) | (dlid >= t.entries)
        here = (dlid == self.lid) & unicast & ~above

        def dropped(why: LFTCause) -> Value:
            return drop & (cause == why) & (port == UNASSIGNED)

        routed = ~drop & (cause == LFTCause.ROUTED)
        claim(m, "routed", routed & (port == kept), when=here & (kept <= t.ports))
        changes = program.enable & ((written & (program.port != kept)) | (program.top & (program.lid < dlid)))
        claim(m, "while-written", routed & (port == kept), when=here & (kept <= t.ports) & changes)
        claim(m, "permissive", routed & (port == 0), when=dlid == PERMISSIVE)
        claim(m, "reserved", dropped(LFTCause.RESERVED), when=dlid == 0)
        multicast = (dlid >= FIRST_MULTICAST) & (dlid != PERMISSIVE)
        claim(m, "multicast", dropped(LFTCause.MULTICAST), when=multicast)
        claim(m, "above-top", dropped(LFTCause.ABOVE_TOP), when=unicast & above)
        claim(m, "unassigned", dropped(LFTCause.UNASSIGNED), when=here & (kept == UNASSIGNED))
        missing = here & (kept > t.ports) & (kept != UNASSIGNED)
        claim(m, "no-such-port", dropped(LFTCause.NO_SUCH_PORT), when=missing)
        claim(m, "dropped", (drop == (cause != LFTCause.ROUTED)) & (~drop | (port == UNASSIGNED)))
        return m


INSTANCES = (
    Instance("small", LFTProperties, {"lookups": 2, "ports": 4, "entries": 16}),
    Instance("odd", LFTProperties, {"lookups": 2, "ports": 36, "entries": 100}),
    Instance("full", LFTProperties, {"lookups": 8, "ports": 8, "entries": 1024}),
)
"""Proven instances."""
