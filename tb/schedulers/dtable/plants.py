"""Planted bugs of the Deficit Table, in all its forms."""

from __future__ import annotations

from typing import Any

from vlane.tb.machinery.plants.plant import Plant

_TABLE, _TURNS = "hdl/schedulers/dtable.py", "hdl/schedulers/deficit.py"
_LINE_RATE, _ACCOUNT = "hdl/schedulers/dtable_line_rate.py", "hdl/schedulers/lane_account.py"
_AT_LINE_RATE: dict[str, Any] = {"form": "line_rate", "requesters": 0, "keep_on_stall": False}
PLANTS = (
    Plant(
        "inactive-keeps-its-deficit",
        "A requester that becomes inactive keeps its deficit.",
        _TURNS,
        "kept = self.active[requester]",
        "kept = self.active[requester] | self.deficit[requester].any()",
    ),
    Plant(
        "weight-twice",
        "The weight is added twice when a turn begins.",
        _TURNS,
        "summed.eq(one_of(search.chosen, self._each(self.weights)) + one_of(self.served, carried)),",
        "summed.eq(2 * one_of(search.chosen, self._each(self.weights)) + one_of(self.served, carried)),",
    ),
    Plant(
        "own-remainder-lost",
        "A requester that follows itself begins without what was left of its turn.",
        _TURNS,
        "carried = [Mux(self.turn[r], left, self.deficit[r]) for r in range(self.requesters)]",
        "carried = [self.deficit[r] for r in range(self.requesters)]",
    ),
    Plant(
        "entries-without-weight",
        "Entries of weight 0 are served too.",
        _TURNS,
        "search.eligible.eq(Cat(self.weights[i].any() & names_active[i] for i in range(self.entries))),",
        "search.eligible.eq(Cat(names_active[i] for i in range(self.entries))),",
    ),
    Plant(
        "swap-keeps-the-place",
        "After a swap the search goes on where it was, instead of at entry 0.",
        _TURNS,
        "self.stored.write(m, self.pointer, self.entries - 1)",
        "self.stored.write(m, self.pointer, self.pointer)",
    ),
    Plant(
        "swap-keeps-deficits",
        "Deficits outlive a swap.",
        _TURNS,
        "self.stored.write_each(m, self.deficit, [0] * self.requesters)",
        "self.stored.write_each(m, self.deficit, self.deficit)",
    ),
    Plant(
        "writes-the-active-table",
        "The table is written to the bank that is in use.",
        _TABLE,
        "with m.If(self.table_write(index) & ~exchange & (active != bank)):",
        "with m.If(self.table_write(index) & ~exchange & (active == bank)):",
    ),
    Plant(
        "swap-forgotten",
        "A swap that is requested while no packet may start is forgotten.",
        _TABLE,
        "self.stored.write(m, self.swap_pending, wanted & ~self.ready)",
        "self.stored.write(m, self.swap_pending, self.swap_pending & ~self.ready)",
    ),
    Plant(
        "low-entry-names-nobody",
        "The low-priority entries that hold deficits are read without their requester.",
        _TABLE,
        "self.read_vl.eq(Mux(has_deficit, self.read_index[:4], 0)),",
        "self.read_vl.eq(0),",
        instance="ib-packing",
        parameters={"form": "ib", "requesters": 0, "data_vls": 4, "entries": 64},
    ),
    Plant(
        "unable-keeps-its-account",
        "At line rate a lane that cannot send keeps its account.",
        _LINE_RATE,
        "account.empties.eq((self.go & ~self.sends[lane]) | (pays & ~self.behind[lane]) | self.exchange),",
        "account.empties.eq((pays & ~self.behind[lane]) | self.exchange),",
        instance="line-rate-small",
        parameters=_AT_LINE_RATE,
    ),
    Plant(
        "follower-not-charged",
        "At line rate the packet behind a sent one is charged as one block.",
        _ACCOUNT,
        "paid, added = (self.account - self.next_head)[:width], (self.account + self.weight)[:width]",
        "paid, added = (self.account - 1)[:width], (self.account + self.weight)[:width]",
        instance="line-rate-small",
        parameters=_AT_LINE_RATE,
    ),
    Plant(
        "weight-for-the-uncharged",
        "At line rate a weight is added to a lane whose head was not charged.",
        _ACCOUNT,
        "with m.Elif(self.adds & self.charged):  # an uncharged lane gets no weight: its turn would be lost anyway",
        "with m.Elif(self.adds):",
        instance="line-rate-small",
        parameters=_AT_LINE_RATE,
    ),
    Plant(
        "one-block-before-it-is-known",
        "At line rate a lane whose head is not known to be one block is granted when its entry returns.",
        _LINE_RATE,
        "self.names_own.eq(self.stays | (self.returns & self.known_one)),",
        "self.names_own.eq(self.stays | self.returns),",
        instance="line-rate-small",
        parameters=_AT_LINE_RATE,
    ),
)
"""Each changes one line."""
