"""Arbitration tables of a port: the active bank is read, the shadow bank is written."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, Signature

from vlane.hdl.common.stored import Stored
from vlane.hdl.schedulers.ports import egress_members
from vlane.schedulers.writes import ListSelect

ENTRY_LAYOUT = data.StructLayout({"vl": unsigned(4), "weight": unsigned(8)})


class ProgramSignature(Signature):
    """Write port of the shadow bank, seen from its driver.

    Members
    -------
    enable : Out(1)
        Write in this cycle.
    select : Out(ListSelect)
        High list, low list, or LimitOfHighPriority, which is taken from ``weight``; 3 writes nothing.
    index : Out(6)
        Index of the entry; a write past the end of the list writes nothing.
    vl : Out(4)
        Lane of the entry, 0 to 15.
    weight : Out(8)
        Weight of the entry in units of 64 bytes, or the limit.
    """

    def __init__(self) -> None:
        super().__init__({"enable": Out(1), "select": Out(ListSelect), "index": Out(6), "vl": Out(4), "weight": Out(8)})


def vlarb_members(
    *, data_vls: int, entries: int, vl15: bool, behind: bool = False, parity: bool = False
) -> dict[str, Any]:
    """Return the members of a VL arbiter, documented in ``VLArb``.

    Parameters
    ----------
    data_vls, entries, vl15
        See ``VLArb``.
    behind : bool
        Whether to include the member ``behind``.
    parity : bool
        Whether to include the member ``upset``.
    """
    return {
        **egress_members(data_vls + vl15),
        "program": In(ProgramSignature()),
        "swap": In(1),
        "swap_pending": Out(1),
        "unreachable": Out(data_vls),
        "bad_entries": Out(range(2 * entries + 1)),
        **({"behind": In(data_vls)} if behind else {}),
        **({"upset": Out(1)} if parity else {}),
    }


class VLArbBanks(wiring.Component):
    """Two banks of both lists and of the limit. An exchange takes one cycle and copies nothing.

    Parameters
    ----------
    data_vls : int
        Number of data lanes; entries that name other lanes count as bad.
    entries : int
        Length of each list.
    parity : bool
        Whether registers have parity bits; ``stored.upset`` reports a mismatch.

    Members
    -------
    program : In(ProgramSignature())
        Write port of the shadow bank.
    exchange : In(1)
        The banks are exchanged at the end of this cycle; a write in the same cycle is ignored.
    high, low : Out(ArrayLayout(ENTRY_LAYOUT, entries))
        Lists of the active bank.
    limit : Out(8)
        LimitOfHighPriority of the active bank.
    shadow_first : Out(ArrayLayout(unsigned(8), 2))
        Weight of entry 0 of each list in the shadow bank, high then low.
    shadow_limit : Out(8)
        LimitOfHighPriority of the shadow bank.
    unreachable : Out(data_vls)
        Data lanes that no entry with a weight names in the active bank.
    bad_entries : Out(range(2 * entries + 1))
        Number of entries in the active bank that name VL15 or an absent lane.
    """

    def __init__(self, *, data_vls: int, entries: int, parity: bool = False) -> None:
        self.data_vls, self.entries, self.stored = data_vls, entries, Stored(parity=parity)
        lists = data.ArrayLayout(ENTRY_LAYOUT, entries)
        super().__init__(
            {
                "program": In(ProgramSignature()),
                "exchange": In(1),
                "high": Out(lists),
                "low": Out(lists),
                "limit": Out(8),
                "shadow_first": Out(data.ArrayLayout(8, 2)),
                "shadow_limit": Out(8),
                "unreachable": Out(data_vls),
                "bad_entries": Out(range(2 * entries + 1)),
            }
        )
        self.active = Signal()
        self.limits = [Signal(8, name=f"limit_{bank}") for bank in range(2)]
        self.lists = [[Signal(lists, name=f"{name}_{bank}") for name in ("high", "low")] for bank in range(2)]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        active, limits, lists = self.active, self.limits, self.lists
        with m.If(self.exchange):
            self.stored.write(m, active, ~active)

        for bank in range(2):
            with m.If(self.program.enable & ~self.exchange & (active != bank)):
                self._write(m, lists[bank], limits[bank])

        m.d.comb += [
            self.limit.eq(Mux(active, limits[1], limits[0])),
            self.shadow_limit.eq(Mux(active, limits[0], limits[1])),
        ]
        for which, out in enumerate((self.high, self.low)):
            m.d.comb += [
                out.eq(Mux(active, lists[1][which], lists[0][which])),
                self.shadow_first[which].eq(Mux(active, lists[0][which][0].weight, lists[1][which][0].weight)),
            ]
        self._status(m)
        self.stored.check(m)
        return m

    def _write(self, m: Module, lists: list[data.View], limit: Signal) -> None:
        written = Signal(ENTRY_LAYOUT)
        m.d.comb += [written.vl.eq(self.program.vl), written.weight.eq(self.program.weight)]
        with m.Switch(self.program.select):
            for select, entries in zip((ListSelect.HIGH, ListSelect.LOW), lists, strict=True):
                with m.Case(select), m.Switch(self.program.index):
                    for index in range(self.entries):
                        with m.Case(index):
                            self.stored.write(m, entries[index], written)
            with m.Case(ListSelect.LIMIT):
                self.stored.write(m, limit, self.program.weight)

    def _status(self, m: Module) -> None:
        entries = [side[i] for side in (self.high, self.low) for i in range(self.entries)]
        named = [Mux(entry.weight.any(), 1 << entry.vl, 0) for entry in entries]
        m.d.comb += [
            self.unreachable.eq(~reduce(or_, named)),
            self.bad_entries.eq(sum(entry.vl >= self.data_vls for entry in entries)),
        ]
