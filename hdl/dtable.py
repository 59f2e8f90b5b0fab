"""The Deficit Table scheduler: entries of (requester, weight), a deficit per requester."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped
from vlane.hdl.deficit import DEFICIT_BITS, DeficitTurns
from vlane.hdl.dtable_line_rate import LINE_RATE_LANES, LineRateDTable, line_rate_members
from vlane.hdl.parameters import check_flag, check_range
from vlane.hdl.scheduler import Scheduler, ScheduleSignature
from vlane.hdl.select import one_of

from vlane.dtable import IB_COUNTER_MOST, IB_ENTRIES, IB_SLS, MAX_ENTRIES
from vlane.errors import InputError, unknown_word
from vlane.units import MAX_PACKET_BLOCKS

__all__ = ["DTable"]

_IB_BITS = 4
_FORMS = ("free", "ib", "line_rate")


class DTable(Scheduler):
    """Table-driven deficit scheduling with a deficit counter per requester (``docs/dtable.md``).

    Latency 0. Reset empties both banks: nobody is served.

    Parameters
    ----------
    data_vls : int
        Data lanes, 2 to 31; to 32 without VL15.
    requesters : int
        Requesters (SLs) behind a programmable map from lanes, 2 to 32; 0: each data lane is one.
    entries : int
        Entries of the table, 2 to 128; 64 in the IB form.
    vl15 : bool
        Whether there is one more lane, the last, for VL15.
    form : str
        ``free``; ``ib``: counters of 8 bits, as the weight fields of the low-priority list, readable there;
        at most 16 requesters; or ``line_rate``: the table in memory, walked ahead of need, at most 31 data lanes,
        without a map and ``keep_on_stall`` (``docs/dtable_line_rate.md``).
    keep_on_stall : bool
        Whether a requester that has packets but room for none keeps its deficit.
    mtu_blocks : int
        Largest packet; such a requester keeps less than that of its turn.

    Members
    -------
    heads : In(HeadsSignature(lanes))
        Head packets of the lanes.
    ready : In(1)
        A new packet may start.
    hold_data : In(1)
        A flow-control packet is due: only VL15 may win.
    grant : Out(1)
        A packet may start; it starts if ``ready`` is asserted too.
    vl : Out(vl_bits)
        Its lane. 0 without a grant.
    list : Out(ListCode)
        ``VL15`` or ``NONE``.
    blocks : Out(7)
        Its size. 0 without a grant. In the line-rate form that of the grant a cycle ago.
    program : In(ScheduleSignature(8))
        Writes to the shadow table, and to the map; in the IB form a requester has 4 bits, as the VL field.
    swap : In(1)
        Asks, for one cycle or more, that the shadow table becomes the active one in the first ready cycle.
    swap_pending : Out(1)
        A swap was asked for and waits for a ready cycle.
    unreachable : Out(requesters)
        Requesters that no entry with a weight names: they are never served.
    deficit : Out(ArrayLayout(7, requesters))
        Deficit counters; not in the line-rate form.
    accumulated : Out(9)
        Accumulated weight of the turn; 8 bits in the IB form; not in the line-rate form.
    behind : In(data_vls)
        The line-rate form only: behind the head is another packet, and it fits after it.
    behind_blocks : In(ArrayLayout(7, data_vls))
        The line-rate form only: its size.
    read_low : In(1)
        The IB form only: read the low-priority list, else the high-priority one.
    read_index : In(6)
        The IB form only: its entry.
    read_vl : Out(4)
        The IB form only: the VL field of that entry.
    read_weight : Out(8)
        The IB form only: its weight field: deficits in low entries 0 to 15, the accumulated weight in low entry 63.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If it is out of range.
    """

    def __init__(
        self,
        *,
        data_vls: int = 8,
        requesters: int = 0,
        entries: int = 64,
        vl15: bool = True,
        form: str = "free",
        keep_on_stall: bool = False,
        mtu_blocks: int = MAX_PACKET_BLOCKS,
    ) -> None:
        parameters: dict[str, Any] = {"data_vls": data_vls, "requesters": requesters, "entries": entries, "vl15": vl15}
        self.check_parameters(**parameters, form=form, keep_on_stall=keep_on_stall, mtu_blocks=mtu_blocks)
        self.entries, self.form, self.mtu_blocks = entries, form, mtu_blocks
        if form == "line_rate":
            super().__init__(data_vls=data_vls, requesters=0, vl15=vl15, members=line_rate_members(data_vls=data_vls))
            self.core = LineRateDTable(
                data_vls=data_vls, entries=entries, vl15=vl15, vl_bits=len(self.vl), mtu_blocks=mtu_blocks
            )
            return
        count = requesters or data_vls
        self.turns = DeficitTurns(
            entries=entries,
            requesters=count,
            keep_on_stall=keep_on_stall,
            most_kept=mtu_blocks - 1,
            saturate_at=IB_COUNTER_MOST if form == "ib" else 0,
        )
        members: dict[str, object] = {
            "program": In(ScheduleSignature(8, _IB_BITS if form == "ib" else 5)),
            "swap": In(1),
            "swap_pending": Out(1),
            "unreachable": Out(count),
            "deficit": Out(data.ArrayLayout(DEFICIT_BITS, count)),
            "accumulated": Out(self.turns.accumulated_bits),
        }
        if form == "ib":
            members |= {"read_low": In(1), "read_index": In(6), "read_vl": Out(4), "read_weight": Out(8)}
        super().__init__(data_vls=data_vls, requesters=requesters, vl15=vl15, members=members)
        names = unsigned(_IB_BITS) if form == "ib" else range(count + 1)
        layout = data.ArrayLayout(data.StructLayout({"requester": names, "weight": unsigned(8)}), entries)
        self.banks = [Signal(layout, name=f"entries_{bank}") for bank in range(2)]
        self.table = Signal(layout)

    @classmethod
    def check_parameters(
        cls,
        *,
        data_vls: int,
        requesters: int,
        entries: int,
        vl15: bool,
        form: str,
        keep_on_stall: bool,
        mtu_blocks: int,
    ) -> None:
        """Raise what the constructor would raise, without making anything."""
        cls.check_lanes(data_vls=data_vls, requesters=requesters, vl15=vl15)
        cls.check_mtu(mtu_blocks)
        check_flag("keep_on_stall", keep_on_stall)
        check_range("entries", entries, 2, MAX_ENTRIES)
        if form not in _FORMS:
            raise unknown_word("form", _FORMS, form)
        if form == "line_rate":
            check_range("data_vls", data_vls, 2, LINE_RATE_LANES)
            if requesters:
                raise InputError("requesters", "0 in the line_rate form", requesters)
            if keep_on_stall:
                raise InputError("keep_on_stall", "false in the line_rate form", "true")
        if form == "ib" and entries != IB_ENTRIES:
            raise InputError("entries", f"{IB_ENTRIES} in the ib form", entries)
        if form == "ib" and (requesters or data_vls) > IB_SLS:
            raise InputError("requesters", f"at most {IB_SLS} in the ib form", requesters or data_vls)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        if self.form == "line_rate":
            m.submodules.core = self.core
            connect(m, flipped(self), self.core)
            return m
        m.submodules.turns = turns = self.turns
        self.frame(m)
        self.note_winner(m)
        exchange = self._banks(m)
        m.d.comb += [
            turns.active.eq(self.active),
            turns.waiting.eq(self.waiting),
            turns.sizes.eq(self.sizes),
            *(turns.owners[i].eq(self.table[i].requester) for i in range(self.entries)),
            *(turns.weights[i].eq(self.table[i].weight) for i in range(self.entries)),
            turns.commit.eq(self.ready & self.decides),
            turns.clear.eq(exchange),
            self.winner.eq(turns.winner),
            self.sends.eq(turns.sends),
            self.deficit.eq(turns.deficit),
            self.accumulated.eq(turns.accumulated),
            self.unreachable.eq(~reduce(or_, self._named())),
        ]
        if self.form == "ib":
            self._read(m)
        return m

    def _banks(self, m: Module) -> Signal:
        """Write the shadow bank; exchange the banks in the first ready cycle, after its decision."""
        active, exchange, wanted = Signal(), Signal(), Signal()
        m.d.comb += [
            wanted.eq(self.swap | self.swap_pending),
            exchange.eq(wanted & self.ready),
            self.table.eq(Mux(active, self.banks[1], self.banks[0])),
        ]
        m.d.sync += self.swap_pending.eq(wanted & ~self.ready)
        with m.If(exchange):
            m.d.sync += active.eq(~active)
        named = self.program.requester if self.form == "ib" else self.programmed_requester()
        for bank, entries in enumerate(self.banks):
            for index in range(self.entries):
                with m.If(self.table_write(index) & ~exchange & (active != bank)):
                    m.d.sync += [
                        entries[index].requester.eq(named),
                        entries[index].weight.eq(self.program.weight),
                    ]
        return exchange

    def _named(self) -> list[Any]:
        entries = (self.table[i] for i in range(self.entries))
        return [Mux(entry.weight.any(), 1 << entry.requester, 0)[: self.requesters] for entry in entries]

    def _read(self, m: Module) -> None:
        """Show the tables as a subnet manager reads them."""
        chosen = Signal(IB_ENTRIES)
        m.d.comb += chosen.eq(1 << self.read_index)
        with m.If(self.read_low):
            low = [*(self.deficit[r] for r in range(self.requesters)), self.accumulated]
            at = [*(chosen[r] for r in range(self.requesters)), chosen[IB_ENTRIES - 1]]
            has_deficit = chosen[: self.requesters].any()
            m.d.comb += [
                self.read_vl.eq(Mux(has_deficit, self.read_index[:4], 0)),
                self.read_weight.eq(one_of(at, low)),
            ]
        with m.Else():
            entries = [self.table[i] for i in range(self.entries)]
            m.d.comb += [
                self.read_vl.eq(one_of(chosen, (entry.requester for entry in entries))),
                self.read_weight.eq(one_of(chosen, (entry.weight for entry in entries))),
            ]
