"""The Deficit Table scheduler: entries of (requester, weight), a deficit per requester, and its forms."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.select import one_of
from vlane.hdl.schedulers.base import Scheduler, ScheduleSignature
from vlane.hdl.schedulers.deficit import DEFICIT_BITS, DeficitTurns
from vlane.hdl.schedulers.dtable_line_rate import LineRateDTable
from vlane.hdl.schedulers.forms import Forms, require_form
from vlane.schedulers.dtable import IB_COUNTER_MOST, IB_ENTRIES, DTableParameters

__all__ = ["COMPONENT", "DTable", "IBDTable"]


class DTable(Scheduler):
    """Table-driven deficit scheduling with a deficit counter per requester (``docs/dtable.md``), free form.

    Latency 0. Reset empties both banks: no requester is served.

    Parameters
    ----------
    parameters : DTableParameters
        Shape of the component.

    Members
    -------
    heads : In(HeadsSignature(lanes))
        Head packets of the lanes.
    ready : In(1)
        A new packet may start.
    hold_data : In(1)
        A flow-control packet is due: only VL15 may be granted.
    grant : Out(1)
        A packet may start. It starts if ``ready`` is asserted in the same cycle.
    vl : Out(vl_bits)
        Lane of the granted packet; 0 without a grant.
    from_list : Out(ListCode)
        ``VL15`` or ``NONE``.
    blocks : Out(7)
        Its size. 0 without a grant.
    program : In(ScheduleSignature(8))
        Writes to the shadow table, and to the map.
    swap : In(1)
        Requests that the banks are exchanged in the first ready cycle, this one included.
    swap_pending : Out(1)
        A swap was requested in an earlier cycle and waits for a ready cycle.
    unreachable : Out(requesters)
        Requesters that no entry with a weight names: they are never served.
    deficit : Out(ArrayLayout(7, requesters))
        Deficit counters.
    accumulated : Out(9)
        Accumulated weight of the turn.
    upset : Out(1)
        Only with ``parity``: in the cycle before, something that is stored did not fit its parity.
    """

    form = "free"
    requester_bits, saturate_at = 5, 0

    def __init__(self, parameters: DTableParameters) -> None:
        require_form(self, parameters)
        self.parameters = p = parameters
        self.entries, self.mtu_blocks = p.entries, p.mtu_blocks
        count = p.count
        self.turns = DeficitTurns(
            entries=p.entries,
            requesters=count,
            keep_on_stall=p.keep_on_stall,
            most_kept=p.mtu_blocks - 1,
            saturate_at=self.saturate_at,
            parity=p.parity,
        )
        members: dict[str, object] = {
            "program": In(ScheduleSignature(8, self.requester_bits)),
            "swap": In(1),
            "swap_pending": Out(1),
            "unreachable": Out(count),
            "deficit": Out(data.ArrayLayout(DEFICIT_BITS, count)),
            "accumulated": Out(self.turns.accumulated_bits),
            **self.further_members(),
            **({"upset": Out(1)} if p.parity else {}),
        }
        super().__init__(parameters, members, parity=p.parity)
        layout = data.ArrayLayout(
            data.StructLayout({"requester": self.name_shape(count), "weight": unsigned(8)}), p.entries
        )
        self.banks = [Signal(layout, name=f"entries_{bank}") for bank in range(2)]
        self.table = Signal(layout)
        self.bank = Signal(name="active_bank")

    def further_members(self) -> dict[str, object]:
        """Return the members that only this form has."""
        return {}

    def name_shape(self, count: int) -> Any:
        """Return the shape of an entry's requester. A number past the last one stands for nobody."""
        return range(count + 1)

    def written_name(self) -> Value:
        """Return the requester that an entry is written with."""
        return self.programmed_requester()

    def elaborate(self, _platform: object) -> Module:
        m = Module()
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
        self.stored.show(m, self, turns.stored)
        return m

    def _banks(self, m: Module) -> Signal:
        """Write the shadow bank, and exchange the banks after the decision of the first ready cycle."""
        active = self.bank
        exchange = Signal()
        wanted = Signal()
        m.d.comb += [
            wanted.eq(self.swap | self.swap_pending),
            exchange.eq(wanted & self.ready),
            self.table.eq(Mux(active, self.banks[1], self.banks[0])),
        ]
        self.stored.write(m, self.swap_pending, wanted & ~self.ready)
        with m.If(exchange):
            self.stored.write(m, active, ~active)
        named = self.written_name()
        for bank, entries in enumerate(self.banks):
            for index in range(self.entries):
                with m.If(self.table_write(index) & ~exchange & (active != bank)):
                    self.stored.write(m, entries[index].requester, named)
                    self.stored.write(m, entries[index].weight, self.program.weight)
        return exchange

    def _named(self) -> list[Any]:
        entries = (self.table[i] for i in range(self.entries))
        return [Mux(entry.weight.any(), 1 << entry.requester, 0)[: self.requesters] for entry in entries]


class IBDTable(DTable):
    """The Deficit Table in the packing of IB's tables: 8-bit counters, as the weight fields of the low-priority list.

    Latency 0. Reset empties both banks: nobody is served.

    Parameters
    ----------
    parameters : DTableParameters
        Shape of the component.

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
    from_list : Out(ListCode)
        ``VL15`` or ``NONE``.
    blocks : Out(7)
        Its size. 0 without a grant.
    program : In(ScheduleSignature(8, 4))
        Writes to the shadow table, and to the map; a requester has 4 bits, as the VL field.
    swap : In(1)
        Asks, for one cycle or more, that the shadow table becomes the active one in the first ready cycle.
    swap_pending : Out(1)
        A swap was asked for and waits for a ready cycle.
    unreachable : Out(requesters)
        Requesters that no entry with a weight names: they are never served.
    deficit : Out(ArrayLayout(7, requesters))
        Deficit counters.
    accumulated : Out(8)
        Accumulated weight of the turn.
    read_low : In(1)
        Read the low-priority list, else the high-priority one.
    read_index : In(6)
        Its entry.
    read_vl : Out(4)
        VL field of that entry; 0 past the last entry.
    read_weight : Out(8)
        Weight field of that entry: deficits in low entries 0 to 15, the accumulated weight in low entry 63.
    upset : Out(1)
        Only with ``parity``: in the cycle before, something that is stored did not fit its parity.
    """

    form = "ib"
    requester_bits, saturate_at = 4, IB_COUNTER_MOST

    def further_members(self) -> dict[str, object]:
        """Return the members through which a subnet manager reads the tables."""
        return {"read_low": In(1), "read_index": In(6), "read_vl": Out(4), "read_weight": Out(8)}

    def name_shape(self, _count: int) -> Any:
        """Return the shape of the VL field."""
        return unsigned(self.requester_bits)

    def written_name(self) -> Value:
        """Return the stored name: all 4 bits of a written number are kept, like the VL field."""
        return self.program.requester

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        self._read(m)
        return m

    def _read(self, m: Module) -> None:
        """Show the tables in the form in which a subnet manager reads them."""
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
            entries, read = [self.table[i] for i in range(self.entries)], chosen[: self.entries]
            m.d.comb += [
                self.read_vl.eq(one_of(read, (entry.requester for entry in entries))),
                self.read_weight.eq(one_of(read, (entry.weight for entry in entries))),
            ]


COMPONENT = Forms(DTable, IBDTable, LineRateDTable)
"""The Deficit Table in each of its forms."""
