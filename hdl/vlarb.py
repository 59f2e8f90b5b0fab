"""The VL arbiter of InfiniBand: its exact form, one decision a cycle, every rule visible; or the line-rate form."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped
from vlane.hdl.list_search import ListSearch
from vlane.hdl.parameters import check_flag, check_range
from vlane.hdl.select import bit_of, equals, one_of
from vlane.hdl.vlarb_banks import VLArbBanks, vlarb_members
from vlane.hdl.vlarb_line_rate import LineRateVLArb

from vlane.egress import ListCode
from vlane.errors import unknown_word
from vlane.vlarb import LIMIT_UNBOUNDED, MAX_DATA_VLS, MAX_ENTRIES, VL15

__all__ = ["VLArb"]

_FORMS = ("exact", "line_rate")
_COUNTER_SHAPE = signed(15)
_REMAINING_SHAPE = signed(9)


class VLArb(wiring.Component):
    """Dual-priority weighted round robin with LimitOfHighPriority and VL15 (IBA 7.6.9, ``docs/vlarb.md``).

    Latency 0: ``grant`` and its companions follow the inputs within the cycle. Reset empties both banks.

    Parameters
    ----------
    data_vls : int
        Data lanes, 1 to 15; requester ``i`` is VL ``i``.
    entries : int
        Entries of each list, 1 to 64.
    vl15 : bool
        Whether there is one more requester, the last, for VL15.
    form : str
        ``exact``, or ``line_rate``: lists in memory, walked ahead of need (``docs/vlarb_line_rate.md``).

    Members
    -------
    heads : In(HeadsSignature(requesters))
        Head packets of the lanes.
    ready : In(1)
        A new packet may start.
    hold_data : In(1)
        A flow-control packet is due: only VL15 may win.
    grant : Out(1)
        A packet may start; it starts if ``ready`` is asserted too.
    vl : Out(4)
        Its lane; 15 for VL15. 0 if none is named.
    list : Out(ListCode)
        The list it came from.
    blocks : Out(7)
        Its size. 0 without a grant. In the line-rate form that of the grant a cycle ago.
    program : In(ProgramSignature())
        Writes to the shadow tables, at any time.
    swap : In(1)
        Asks, for one cycle or more, that the shadow tables become the active ones in the first ready cycle.
    swap_pending : Out(1)
        A swap was asked for and waits for a ready cycle.
    unreachable : Out(data_vls)
        Data lanes that no entry with a weight names: they are never served.
    bad_entries : Out(range(2 * entries + 1))
        Entries of the active lists that name VL15 or a lane the port lacks: they are skipped.
    behind : In(data_vls)
        The line-rate form only: behind the head is another packet that fits after it. Only a hint.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If it is out of range.
    """

    latency = 0

    def __init__(self, *, data_vls: int = 8, entries: int = 8, vl15: bool = True, form: str = "exact") -> None:
        self.check_parameters(data_vls=data_vls, entries=entries, vl15=vl15, form=form)
        self.data_vls, self.entries, self.vl15, self.form = data_vls, entries, vl15, form
        self.requesters = data_vls + vl15
        super().__init__(vlarb_members(data_vls=data_vls, entries=entries, vl15=vl15, behind=form == "line_rate"))
        if form == "line_rate":
            self.core = LineRateVLArb(data_vls=data_vls, entries=entries, vl15=vl15)
            return
        self.banks = VLArbBanks(data_vls=data_vls, entries=entries)
        self.searches = {ListCode.HIGH: ListSearch(entries), ListCode.LOW: ListSearch(entries)}
        self.pointers = {
            side: Signal(range(max(2, entries)), name=f"pointer_{side.name.lower()}") for side in self.searches
        }
        self.remaining = {
            side: Signal(_REMAINING_SHAPE, name=f"remaining_{side.name.lower()}") for side in self.searches
        }
        self.counter = Signal(_COUNTER_SHAPE, init=1)

    @staticmethod
    def check_parameters(*, data_vls: int, entries: int, vl15: bool, form: str = "exact") -> None:
        """Raise what the constructor would raise, without making anything."""
        check_range("data_vls", data_vls, 1, MAX_DATA_VLS)
        check_range("entries", entries, 1, MAX_ENTRIES)
        check_flag("vl15", vl15)
        if form not in _FORMS:
            raise unknown_word("form", _FORMS, form)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        if self.form == "line_rate":
            m.submodules.core = self.core
            connect(m, flipped(self), self.core)
            return m
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
        """High while it can and has not expired; else Low; else High again (1.8, A7)."""
        high, low = (search.found for search in self.searches.values())
        use_high, use_low = Signal(), Signal()
        m.d.comb += [
            use_high.eq(high & ((self.counter > 0) | ~low)),
            use_low.eq(low & ~use_high),
        ]
        return use_high, use_low

    def _grant(self, m: Module, vl15_wins: Signal, decides: Signal, use_high: Signal, use_low: Signal) -> None:
        with m.If(vl15_wins):
            m.d.comb += [self.grant.eq(1), self.vl.eq(VL15), self.list.eq(ListCode.VL15)]
            m.d.comb += self.blocks.eq(self.heads.blocks[self.requesters - 1])
        with m.Elif(decides & (use_high | use_low)):
            entry = Mux(use_high, self._entry_of(ListCode.HIGH), self._entry_of(ListCode.LOW))
            m.d.comb += [
                self.grant.eq(1),
                self.vl.eq(entry[:4]),
                self.list.eq(Mux(use_high, ListCode.HIGH, ListCode.LOW)),
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
        """Charge the packet to its entry and, if it is High's, to the limit (A2, A4, A8, A15)."""
        for side, used in ((ListCode.HIGH, use_high), (ListCode.LOW, use_low)):
            search = self.searches[side]
            left = Mux(search.arrives, self._entry_of(side)[4:], self.remaining[side])
            with m.If(used):
                m.d.sync += [
                    self.pointers[side].eq(search.entry),
                    self.remaining[side].eq(left - self.blocks),
                ]
        reloads = (self.counter <= 0) | ~self.searches[ListCode.HIGH].found
        counter = Signal(_COUNTER_SHAPE)
        m.d.comb += counter.eq(Mux(reloads, _counter_load(self.banks.limit), self.counter))
        with m.If(use_high & (self.banks.limit != LIMIT_UNBOUNDED)):
            m.d.sync += self.counter.eq(counter - self.blocks)
        with m.Else():
            m.d.sync += self.counter.eq(counter)

    def _swap(self, m: Module) -> None:
        """Exchange the banks in the first ready cycle, after its decision (A12, A16)."""
        wanted = self.swap | self.swap_pending
        m.d.sync += self.swap_pending.eq(wanted & ~self.ready)
        with m.If(wanted & self.ready):
            m.d.comb += self.banks.exchange.eq(1)
            m.d.sync += self.counter.eq(_counter_load(self.banks.shadow_limit))
            for which, side in enumerate(self.searches):
                m.d.sync += [
                    self.pointers[side].eq(0),
                    self.remaining[side].eq(self.banks.shadow_first[which]),
                ]


def _counter_load(limit: Signal) -> Signal:
    """Blocks High may send: the limit times 64, at least one packet (A8, A9)."""
    return Mux(limit.any(), limit << 6, 1)
