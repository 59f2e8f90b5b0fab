"""Proofs of the Deficit Table for every table and swap. The line-rate form has its own module."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Module, Mux, Signal, Value

from vlane.hdl.schedulers.list_walk import ListWalk
from vlane.schedulers.dtable import IB_COUNTER_MOST, IB_ENTRIES
from vlane.schedulers.writes import ScheduleSelect
from vlane.tb.machinery.proofs.properties import Instance
from vlane.tb.machinery.proofs.prove_parity import ParityProperties
from vlane.tb.schedulers.dtable.proofs_line_rate import LineRateProperties, LineRateTurns
from vlane.tb.schedulers.proofs_deficit import DeficitProperties
from vlane.tb.schedulers.proofs_walk import ListWalkProperties
from vlane.tb.tables.proofs_tables import at
from vlane.units import MAX_PACKET_BLOCKS

_MOST_ACCEPTED = IB_COUNTER_MOST - (MAX_PACKET_BLOCKS - 1)
"""Largest weight of which a table file can be sure that nothing saturates."""


class DTableProperties(DeficitProperties):
    """Check the Deficit Table against a model of its turns, with one arbitrary entry of both banks."""

    statements: ClassVar = {
        **DeficitProperties.statements,
        "table": "An entry of the active table is the one written last before the swap that put its bank in place; in"
        " the other bank it is the one written last. A write in the cycle of a swap is ignored.",
        "swap-pending": "A swap waits from the cycle in which it is requested until the first ready cycle.",
    }

    def table(self, m: Module) -> list[tuple[Value, Value]]:
        """Return (requester, weight) of each active entry, claimed to equal the written values."""
        s, program, pending = self.scheduler, self.scheduler.program, Signal()
        m.d.comb += self.exchange.eq((s.swap | pending) & s.ready)
        m.d.sync += pending.eq((s.swap | pending) & ~s.ready)
        self.claim(m, "swap-pending", s.swap_pending == pending)

        fields = [("owner", 5), ("weight", 8)]
        now, next_ = ([Signal(bits, name=f"{bank}_{each}") for each, bits in fields] for bank in ("now", "next"))
        selected = Value.cast(program.select) == int(ScheduleSelect.TABLE)
        absent = (program.requester >= s.requesters) & (s.form != "ib")
        with m.If(self.exchange):
            m.d.sync += [a.eq(b) for a, b in zip([*now, *next_], [*next_, *now], strict=True)]
        with m.Elif(program.enable & selected & (program.index == self.entry)):
            m.d.sync += [next_[0].eq(Mux(absent, s.requesters, program.requester)), next_[1].eq(program.weight)]
        which, spare = Signal(), Signal(13)
        with m.If(self.exchange):
            m.d.sync += which.eq(~which)
        banks = [at([Value.cast(bank[index]) for index in range(s.entries)], self.entry) for bank in s.banks]
        bits = len(banks[0]) - 8
        m.d.comb += spare.eq(Mux(which, banks[0], banks[1]))
        active = [self._entry(index) for index in range(s.entries)]
        self.claim(m, "table", s.bank == which)
        self.claim(m, "table", at([each for each, _ in active], self.entry) == now[0])
        self.claim(m, "table", at([each for _, each in active], self.entry) == now[1])
        self.claim(m, "table", (spare[:bits] == next_[0]) & (spare[bits : bits + 8] == next_[1]))
        self.written = now
        return active

    def _entry(self, index: int) -> tuple[Value, Value]:
        entry = self.scheduler.table[index]
        return Value.cast(entry.requester), Value.cast(entry.weight)


class IBTableProperties(DTableProperties):
    """Check the packing of a Deficit Table into InfiniBand's tables: saturating 8-bit counters and read ports."""

    turns_up_to = IB_ENTRIES

    statements: ClassVar = {
        **DTableProperties.statements,
        "nothing-saturates": "While no weight above 190 has been written, no sum of a weight and a deficit smaller than"
        " the largest packet is above 255.",
        "high-entries": "The high-priority entries that are read are those of the active table; past its end they are"
        " 0.",
        "low-entries": "The low-priority entries that are read are the requesters' numbers and deficits, the"
        " accumulated weight in the last one, and 0 in the others.",
    }

    def most_accumulated(self) -> int:
        """Return the value at which the counter of the accumulated weight saturates."""
        return IB_COUNTER_MOST

    def table(self, m: Module) -> list[tuple[Value, Value]]:
        """Return (requester, weight) of each active entry, and claim the entries read as InfiniBand's tables."""
        s, entries, modest = self.scheduler, super().table(m), Signal(init=1)
        index, place = s.read_index, Signal(8)
        with m.If(s.program.weight > _MOST_ACCEPTED):
            m.d.sync += modest.eq(0)
        weights = [Value.cast(bank[i].weight) for bank in s.banks for i in range(s.entries)]
        for weight in weights:
            self.claim(m, "nothing-saturates", weight <= _MOST_ACCEPTED, when=modest)
        added = at([weight for _, weight in entries], self.entry)
        for deficit in s.deficit:
            self.claim(
                m, "nothing-saturates", added + deficit <= IB_COUNTER_MOST, when=modest & (deficit < MAX_PACKET_BLOCKS)
            )
        self.claim(m, "high-entries", s.read_vl == self.written[0], when=~s.read_low & (index == self.entry))
        self.claim(m, "high-entries", s.read_weight == self.written[1], when=~s.read_low & (index == self.entry))
        past_end = ~s.read_low & (index >= s.entries)
        if s.entries < IB_ENTRIES:
            self.claim(m, "high-entries", (s.read_vl == 0) & (s.read_weight == 0), when=past_end)
        of_requester, of_turn = index < s.requesters, index == IB_ENTRIES - 1
        m.d.comb += place.eq(Mux(of_requester, at(list(s.deficit), index), Mux(of_turn, s.accumulated, 0)))
        self.claim(m, "low-entries", s.read_weight == place, when=s.read_low)
        self.claim(m, "low-entries", s.read_vl == Mux(of_requester, index, 0), when=s.read_low)
        return entries


_FREE = {"form": "free", "keep_on_stall": False, "mtu_blocks": 66}
INSTANCES = (
    Instance("small", DTableProperties, {"data_vls": 2, "requesters": 0, "entries": 4, "vl15": True, **_FREE}),
    Instance(
        "mapped",
        DTableProperties,
        {"data_vls": 4, "requesters": 3, "entries": 5, "vl15": False, **_FREE, "keep_on_stall": True, "mtu_blocks": 33},
    ),
    Instance("full", DTableProperties, {"data_vls": 15, "requesters": 0, "entries": 64, "vl15": True, **_FREE}),
    Instance(
        "ib-small",
        IBTableProperties,
        {"data_vls": 2, "requesters": 0, "entries": 4, "vl15": True, **_FREE, "form": "ib"},
    ),
    Instance(
        "ib-mapped",
        IBTableProperties,
        {
            "data_vls": 4,
            "requesters": 3,
            "entries": 5,
            "vl15": False,
            **_FREE,
            "form": "ib",
            "keep_on_stall": True,
            "mtu_blocks": 33,
        },
    ),
    Instance(
        "ib-packing",
        IBTableProperties,
        {"data_vls": 4, "requesters": 0, "entries": 64, "vl15": True, **_FREE, "form": "ib"},
    ),
    Instance(
        "parity",
        ParityProperties,
        {"data_vls": 4, "requesters": 3, "entries": 5, "vl15": False, **_FREE, "keep_on_stall": True, "parity": True},
    ),
    Instance("walk", ListWalkProperties, {"data_vls": 2, "entries": 4, "lane_bits": 5, "ample_from": 5}, ListWalk),
    Instance(
        "line-rate-small",
        LineRateProperties,
        {"data_vls": 2, "requesters": 0, "entries": 4, "vl15": True, **_FREE, "form": "line_rate", "mtu_blocks": 5},
    ),
    Instance(
        "line-rate-turns",
        LineRateTurns,
        {"data_vls": 3, "requesters": 0, "entries": 4, "vl15": True, **_FREE, "form": "line_rate", "mtu_blocks": 5},
    ),
    Instance(
        "line-rate-turns-wide",
        LineRateTurns,
        {"data_vls": 17, "requesters": 0, "entries": 4, "vl15": True, **_FREE, "form": "line_rate"},
    ),
    Instance(
        "line-rate-full",
        LineRateProperties,
        {"data_vls": 16, "requesters": 0, "entries": 64, "vl15": False, **_FREE, "form": "line_rate"},
    ),
)
"""Proven instances of the free, ib and line-rate forms: small, with a map, and full size."""
