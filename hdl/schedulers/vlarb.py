"""VL arbiter of InfiniBand in its exact form (one decision per cycle), and the selection of a form."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from vlane.egress import ListCode
from vlane.hdl.common.list_search import ListSearch
from vlane.hdl.common.select import bit_of, equals, one_of
from vlane.hdl.common.stored import Stored
from vlane.hdl.schedulers.forms import Forms, require_form
from vlane.hdl.schedulers.vlarb_banks import VLArbBanks, vlarb_members
from vlane.hdl.schedulers.vlarb_line_rate import LineRateVLArb
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, VL15, VLArbParameters

__all__ = ["COMPONENT", "VLArb"]

_COUNTER_SHAPE = signed(15)
_REMAINING_SHAPE = signed(9)


class VLArb(wiring.Component):
    """Dual-priority weighted round robin with LimitOfHighPriority and VL15 (IBA 7.6.9, ``docs/vlarb.md``), exact form.

    Latency 0: ``grant`` and its companions follow the inputs within the cycle. Reset empties both banks.

    Parameters
    ----------
    parameters : VLArbParameters
        Shape of the component.

    Members
    -------
    heads : In(HeadsSignature(requesters))
        Head packets of the lanes.
    ready : In(1)
        A new packet may start.
    hold_data : In(1)
        A flow-control packet is due: only VL15 may be granted.
    grant : Out(1)
        A packet may start. It starts if ``ready`` is asserted in the same cycle.
    vl : Out(4)
        Lane of the granted packet; 15 for VL15, 0 without a grant.
    from_list : Out(ListCode)
        List that the packet was chosen from.
    blocks : Out(7)
        Size of the granted packet in blocks; 0 without a grant.
    program : In(ProgramSignature())
        Write port of the shadow tables. A write in the cycle that exchanges the banks is ignored.
    swap : In(1)
        Request to exchange the banks in the first ready cycle, possibly this one.
    swap_pending : Out(1)
        A swap requested in an earlier cycle waits for a ready cycle.
    unreachable : Out(data_vls)
        Data lanes that no entry with a weight names. They are never served.
    bad_entries : Out(range(2 * entries + 1))
        Number of entries in the active lists that name VL15 or an absent lane. They are skipped.
    upset : Out(1)
        Only with ``parity``: in the previous cycle a register did not match its parity bit.
    """

    latency = 0
    form = "exact"

    def __init__(self, parameters: VLArbParameters) -> None:
        require_form(self, parameters)
        self.parameters = p = parameters
        self.data_vls, self.entries, self.vl15 = p.data_vls, p.entries, p.vl15
        self.requesters = p.data_vls + p.vl15
        super().__init__(vlarb_members(data_vls=p.data_vls, entries=p.entries, vl15=p.vl15, parity=p.parity))
        self.banks = VLArbBanks(data_vls=p.data_vls, entries=p.entries, parity=p.parity)
        self.searches = {ListCode.HIGH: ListSearch(p.entries), ListCode.LOW: ListSearch(p.entries)}
        self.pointers = {
            side: Signal(range(max(2, p.entries)), name=f"pointer_{side.name.lower()}") for side in self.searches
        }
        self.remaining = {
            side: Signal(_REMAINING_SHAPE, name=f"remaining_{side.name.lower()}") for side in self.searches
        }
        self.counter = Signal(_COUNTER_SHAPE, init=1)
        self.stored = Stored(parity=p.parity)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.banks = self.banks
        connect(m, flipped(self.program), self.banks.program)
        able = Signal(self.requesters)
        eligible = Signal(self.data_vls)
        m.d.comb += [
            able.eq(self.heads.request & self.heads.fits),
            eligible.eq(able),
            self.unreachable.eq(self.banks.unreachable),
            self.bad_entries.eq(self.banks.bad_entries),
        ]
        self._search(m, eligible)
        vl15_wins = able[self.data_vls] if self.vl15 else Signal()
        use_high, use_low = self._decide(m)
        decides = Signal()
        m.d.comb += decides.eq(~vl15_wins & ~self.hold_data)
        self._grant(m, vl15_wins, decides, use_high, use_low)
        with m.If(self.ready & decides):
            self._charge(m, use_high, use_low)
        self._swap(m)
        self.stored.show(m, self, self.banks.stored)
        return m

    def _search(self, m: Module, eligible: Signal) -> None:
        for side, search in self.searches.items():
            m.submodules[f"search_{side.name.lower()}"] = search
            entries = self.banks.high if side is ListCode.HIGH else self.banks.low
            m.d.comb += [
                search.eligible.eq(
                    Cat(bit_of(eligible, entries[i].vl) & entries[i].weight.any() for i in range(self.entries))
                ),
                search.pointer.eq(self.pointers[side]),
                search.weight_left.eq(self.remaining[side] > 0),
            ]

    def _decide(self, m: Module) -> tuple[Signal, Signal]:
        """Select High if it can send within its limit, otherwise Low if it can send, otherwise High (VLA-7)."""
        high, low = (search.found for search in self.searches.values())
        use_high = Signal()
        use_low = Signal()
        m.d.comb += [use_high.eq(high & ((self.counter > 0) | ~low)), use_low.eq(low & ~use_high)]
        return use_high, use_low

    def _grant(self, m: Module, vl15_wins: Signal, decides: Signal, use_high: Signal, use_low: Signal) -> None:
        with m.If(vl15_wins):
            m.d.comb += [self.grant.eq(1), self.vl.eq(VL15), self.from_list.eq(ListCode.VL15)]
            m.d.comb += self.blocks.eq(self.heads.blocks[self.requesters - 1])
        with m.Elif(decides & (use_high | use_low)):
            entry_high = self._entry_of(ListCode.HIGH)
            entry_low = self._entry_of(ListCode.LOW)
            entry = Mux(use_high, entry_high, entry_low)
            m.d.comb += [
                self.grant.eq(1),
                self.vl.eq(entry[:4]),
                self.from_list.eq(Mux(use_high, ListCode.HIGH, ListCode.LOW)),
                self.blocks.eq(
                    one_of(
                        (equals(self.vl, lane) for lane in range(self.data_vls)),
                        (self.heads.blocks[lane] for lane in range(self.data_vls)),
                    )
                ),
            ]

    def _entry_of(self, side: ListCode) -> Signal:
        entries = self.banks.high if side is ListCode.HIGH else self.banks.low
        return one_of(self.searches[side].chosen, (entries[i] for i in range(self.entries)))

    def _charge(self, m: Module, use_high: Signal, use_low: Signal) -> None:
        """Charge the packet to its entry and, if it is High's, to the limit (VLA-2, VLA-4, VLA-8, VLA-15)."""
        for side, used in ((ListCode.HIGH, use_high), (ListCode.LOW, use_low)):
            search = self.searches[side]
            left = Mux(search.arrives, self._entry_of(side)[4:], self.remaining[side])
            with m.If(used):
                self.stored.write(m, self.pointers[side], search.entry)
                self.stored.write(m, self.remaining[side], left - self.blocks)
        # the limit is renewed once High has expired (a Low packet is sent, or Low has none), or if High has no able
        # entry
        reloads = (self.counter <= 0) | ~self.searches[ListCode.HIGH].found
        counter = Signal(_COUNTER_SHAPE)
        m.d.comb += counter.eq(Mux(reloads, _counter_load(self.banks.limit), self.counter))
        with m.If(use_high & (self.banks.limit != LIMIT_UNBOUNDED)):
            self.stored.write(m, self.counter, counter - self.blocks)
        with m.Else():
            self.stored.write(m, self.counter, counter)

    def _swap(self, m: Module) -> None:
        """Exchange the banks in the first ready cycle, after its decision (VLA-12, VLA-16)."""
        wanted = self.swap | self.swap_pending
        self.stored.write(m, self.swap_pending, wanted & ~self.ready)
        with m.If(wanted & self.ready):
            m.d.comb += self.banks.exchange.eq(1)
            self.stored.write(m, self.counter, _counter_load(self.banks.shadow_limit))
            for which, side in enumerate(self.searches):
                self.stored.write(m, self.pointers[side], 0)
                self.stored.write(m, self.remaining[side], self.banks.shadow_first[which])


def _counter_load(limit: Signal) -> Signal:
    """Return the blocks that High may send: 64 times the limit, or 1 for limit 0 (VLA-8, VLA-9)."""
    return Mux(limit.any(), limit << 6, 1)


COMPONENT = Forms(VLArb, LineRateVLArb)
"""Constructor of the VL arbiter, for either form."""
