"""Proofs of the VL arbiter's line-rate form against reference models of its walks, weights and limit."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value

from vlane.egress import ListCode
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, VL15
from vlane.schedulers.writes import ListSelect
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.schedulers.proofs_walk import WALK_STATEMENTS, WalkClaims

_HIGH, _LOW = range(2)
_SETTLED = 3


class LineRateProperties(Properties):
    """Check the line-rate form against a reference model of the tables, the walks and the charged blocks.

    Parameters
    ----------
    arbiter : LineRateVLArb
        The component. Its internal signals are observed; nothing in it is changed.
    """

    statements: ClassVar = {
        **WALK_STATEMENTS,
        "vl15-first": "VL15 is granted exactly when its head can be sent, so no data lane is granted then.",
        "line-rate-hold": "While a flow-control packet is due, no data lane is named or granted.",
        "line-rate-which-list": "High is named if its current or offered entry can send and its limit has not "
        "expired; otherwise Low if one of its entries can; otherwise High.",
        "lane": "The named lane is that of the list's current entry if the entry stays, otherwise that of the "
        "offered entry.",
        "grant": "A packet is granted exactly when the named lane has a packet that fits.",
        "line-rate-size": "The output `blocks` is the size of the packet granted in the previous cycle.",
        "line-rate-swap": "The banks are exchanged in the first ready cycle from the request on; until then the"
        " request is shown as pending.",
        "status": "The reported unreachable lanes and the number of bad entries are those of the entries read so far.",
        "line-rate-current": "The current entry of a list is the offered entry that won last, with its weight as "
        "written.",
        "line-rate-weight": "The remaining weight of a current entry is its weight, minus one block for each "
        "decision that it won and for each further block of a packet of its list.",
        "prediction": "A list continues with its current entry while weight is left and its lane is predicted able: "
        "by the packet behind the head after a decision for the list, otherwise by its head.",
        "leaves": "The offered entry leaves when it wins, or when it cannot send and the current entry does not stay.",
        "line-rate-limit": "The blocks that High may still send are the loaded limit (64 blocks per unit, or 1 block "
        "for limit 0) minus the blocks charged since; limit 255 is never reduced, and the limit "
        "is reloaded in each decision in which High has expired or has nothing to send.",
        "further-blocks": "The further blocks of a packet are charged one per cycle in the following cycles, to the "
        "list of the last decision.",
        "line-rate-wait-low-for-high": "While Low has an entry that can send and the limit is below 255, High is "
        "named in at most as many decisions before each one for Low as the limit has "
        "blocks (64 per unit, or 1 for limit 0).",
    }
    unfolds_memories = True
    any_memory = True
    within = 30

    def __init__(self, arbiter: Any) -> None:
        super().__init__()
        self.arbiter = arbiter
        self.walks = [WalkClaims(each.walk, each.name, self.claim) for each in arbiter.lists]
        names = [each.name for each in arbiter.lists]
        self.vl, self.left = ([Signal(bits, name=f"account_{what}_{n}") for n in names] for what, bits in _CURRENT[:2])
        self.looks, self.recent, self.stays, self.has, self.wins, self.charged = (
            [Signal(bits, name=f"account_{what}_{n}") for n in names] for what, bits in _CURRENT[2:]
        )
        self.limits, self.counter = [Signal(8, name=f"account_limit_{bank}") for bank in range(2)], Signal(14, init=1)
        self.limit, self.load, self.active = Signal(8), Signal(14), Signal()
        self.able, self.able_before = Signal(arbiter.data_vls), Signal(arbiter.data_vls)
        self.decides, self.exchanges, self.expired = Signal(), Signal(), Signal()
        self.to_charge, self.is_low = Signal(7), Signal()

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return free_inputs(self.arbiter)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = self.arbiter
        for each in self.walks:
            each.add(m)
        self._decide(m)
        self._outputs(m)
        for which in (_HIGH, _LOW):
            self._current(m, which)
        self._limit(m)
        self._wait(m)
        return m

    def _decide(self, m: Module) -> None:
        a = self.arbiter
        pending = Signal()
        vl15_able = (a.heads.request & a.heads.fits)[a.data_vls] if a.vl15 else Value.cast(0)
        has_high, has_low = self.has
        m.d.comb += [
            self.able.eq((a.heads.request & a.heads.fits)[: a.data_vls]),
            self.decides.eq(a.ready & ~vl15_able & ~a.hold_data),
            self.exchanges.eq((a.swap | pending) & a.ready),
            self.expired.eq(self.counter == 0),
            self.wins[_HIGH].eq(has_high & ~(self.expired & has_low)),
            self.wins[_LOW].eq(has_low & ~self.wins[_HIGH]),
        ]
        m.d.sync += [
            self.able_before.eq(self.able),
            pending.eq((a.swap | pending) & ~a.ready),
            self.active.eq(self.active ^ self.exchanges),
        ]
        self.claim(m, "line-rate-swap", a.swap_pending == pending)
        self.claim(
            m, "line-rate-swap", Cat(each.walk.exchange for each in a.lists) == Cat(self.exchanges, self.exchanges)
        )
        for walk in self.walks:
            self.claim(m, "line-rate-swap", walk.account.active == self.active)
            self.claim(m, "prediction", walk.walk.able_before == self.able_before)

    def _outputs(self, m: Module) -> None:
        a, claim, listed = self.arbiter, self.claim, Value.cast(self.arbiter.from_list)
        vl15_able = (a.heads.request & a.heads.fits)[a.data_vls] if a.vl15 else Value.cast(0)
        from_vl15, from_none = listed == int(ListCode.VL15), listed == int(ListCode.NONE)
        may = ~vl15_able & ~a.hold_data
        claim(m, "vl15-first", (from_vl15 == vl15_able) & (from_vl15 == (a.grant & (a.vl == VL15))))
        claim(m, "line-rate-hold", from_none & ~a.grant & (a.vl == 0), when=a.hold_data & ~vl15_able)
        for which, side in ((_HIGH, ListCode.HIGH), (_LOW, ListCode.LOW)):
            account = self.walks[which].account
            claim(m, "line-rate-which-list", (listed == int(side)) == self.wins[which], when=may)
            lane = Mux(self.stays[which], self.vl[which], account.vl(account.offered))
            claim(m, "lane", a.vl == lane, when=may & self.wins[which])
            claim(m, "lane", lane < a.data_vls, when=self.wins[which])
        named = may & (self.wins[_HIGH] | self.wins[_LOW])
        claim(m, "lane", a.vl == 0, when=may & ~named)
        claim(m, "grant", a.grant == (named & self.able.bit_select(a.vl, 1)), when=~vl15_able)
        size, sizes = Signal(7), Array(a.heads.blocks[lane] for lane in range(a.requesters))
        number = Mux(a.vl == VL15, a.data_vls, a.vl) if a.vl15 else a.vl
        m.d.sync += size.eq(Mux(a.grant, sizes[number], 0))
        claim(m, "line-rate-size", a.blocks == size)
        read = [each.account for each in self.walks]
        claim(m, "status", a.unreachable == ~(read[_HIGH].walk.served | read[_LOW].walk.served))
        claim(m, "status", a.bad_entries == read[_HIGH].walk.bad + read[_LOW].walk.bad)
        select, program = Value.cast(a.program.select), a.program
        for walk, chosen in zip(self.walks, (ListSelect.HIGH, ListSelect.LOW), strict=True):
            writes = program.enable & (select == int(chosen))
            w = walk.walk
            claim(m, "tables", w.write == writes)
            given = Cat(program.index, program.vl, program.weight)
            claim(m, "tables", Cat(w.index[:6], w.vl, w.weight) == given, when=writes)
            claim(m, "tables", ~w.index[6], when=writes)
        self._further_blocks(m, sizes[number])

    def _further_blocks(self, m: Module, size: Value) -> None:
        a, claim, goes_on = self.arbiter, self.claim, self.to_charge != 0
        m.d.sync += self.to_charge.eq(self.to_charge - goes_on)
        with m.If(self.decides):
            m.d.sync += self.is_low.eq(self.wins[_LOW])
            with m.If(a.grant):
                m.d.sync += self.to_charge.eq(Mux(size == 0, 0, size - 1))
        with m.If(self.exchanges):
            m.d.sync += self.to_charge.eq(0)
        high, low = a.lists
        claim(m, "further-blocks", high.goes_on == (goes_on & ~self.is_low))
        claim(m, "further-blocks", low.goes_on == (goes_on & self.is_low))
        counts = a.goes_on & ~a.starts
        claim(m, "further-blocks", a.to_go == self.to_charge + 2, when=counts)
        claim(m, "further-blocks", counts == goes_on, when=~a.starts)
        for which in (_HIGH, _LOW):
            going = goes_on & (self.is_low if which else ~self.is_low)
            m.d.comb += self.charged[which].eq((self.decides & self.wins[which]) | going)

    def _current(self, m: Module, list_index: int) -> None:
        a, claim, account, each = (
            self.arbiter,
            self.claim,
            self.walks[list_index].account,
            self.arbiter.lists[list_index],
        )
        vl, left, looks, recent = (
            self.vl[list_index],
            self.left[list_index],
            self.looks[list_index],
            self.recent[list_index],
        )
        wins, takes = Signal(name=f"won_{each.name}"), Signal(name=f"taken_{each.name}")
        weight, named = account.weight(account.offered), Signal(4, name=f"named_vl_{each.name}")
        before = Signal(8, name=f"left_before_{each.name}")
        m.d.comb += [
            self.stays[list_index].eq(looks & (left != 0)),
            self.has[list_index].eq(self.stays[list_index] | account.can),
            wins.eq(self.decides & self.wins[list_index]),
            takes.eq(wins & ~self.stays[list_index]),
            named.eq(Mux(takes, account.vl(account.offered), vl)),
            before.eq(Mux(takes, weight, left)),
        ]
        m.d.sync += [vl.eq(named), left.eq(before - (self.charged[list_index] & (before != 0))), recent.eq(wins)]
        with m.If(wins):
            m.d.sync += looks.eq(a.behind.bit_select(named, 1))
        with m.Elif(~recent):
            m.d.sync += looks.eq(self.able_before.bit_select(named, 1))
        with m.If(self.exchanges):
            m.d.sync += left.eq(0)
        claim(m, "leaves", each.walk.leaves == (takes | (~self.stays[list_index] & ~account.can)))
        claim(m, "can-send", each.can == account.can)
        claim(m, "can-send", account.is_offered, when=account.can)
        claim(m, "line-rate-current", each.vl == vl, when=left != 0)
        claim(m, "line-rate-current", (each.lane == (1 << vl)[: a.data_vls]) & (vl < a.data_vls), when=left != 0)
        claim(m, "line-rate-current", left == 0, when=account.reading)
        claim(m, "prediction", each.stays == self.stays[list_index])
        claim(m, "prediction", each.looks == looks, when=left != 0)
        self._budget(m, "line-rate-weight", each.weight, left, Value.cast(1))

    def _budget(self, m: Module, name: str, budget: Any, left: Value, counts: Value) -> None:
        """Claim that a budget has blocks left exactly while the model has, and that the counter is right."""
        self.claim(m, name, budget.left == (left != 0), when=counts)
        with m.If(counts & (left != 0)):
            self.claim(m, name, (budget.value - budget.charged)[: budget.bits] == left)
            self.claim(m, name, budget.is_one == (budget.value == 1))
            self.claim(m, name, budget.is_two == (budget.value == 2))

    def _limit(self, m: Module) -> None:
        a, claim, program = self.arbiter, self.claim, self.arbiter.program
        limit, load, counter = self.limit, self.load, self.counter
        is_limit = Value.cast(program.select) == int(ListSelect.LIMIT)
        with m.If(program.enable & is_limit & ~self.exchanges):
            for bank in range(2):
                with m.If(self.active != bank):
                    m.d.sync += self.limits[bank].eq(program.weight)
        before, charge = Signal(14), Signal()
        m.d.comb += [
            limit.eq(Mux(self.active, self.limits[1], self.limits[0])),
            load.eq(Mux(limit == 0, 1, 64 * limit)),
            before.eq(Mux(self.decides & (self.expired | ~self.has[_HIGH]), load, counter)),
            charge.eq(self.charged[_HIGH] & (limit != LIMIT_UNBOUNDED)),
        ]
        m.d.sync += counter.eq(before - (charge & (before != 0)))
        with m.If(self.exchanges):
            shadow = Mux(self.active, self.limits[0], self.limits[1])
            m.d.sync += counter.eq(Mux(shadow == 0, 1, 64 * shadow))
        since = self.walks[_HIGH].account.since
        claim(m, "line-rate-limit", self.walks[_LOW].account.since == since)
        claim(m, "line-rate-limit", (Cat(a.limits) == Cat(self.limits)) & (a.active == self.active))
        claim(m, "line-rate-limit", a.limit == limit, when=since > 1)
        flags = Cat(a.unbounded, a.is_none)
        claim(m, "line-rate-limit", flags == Cat(limit == LIMIT_UNBOUNDED, limit == 0), when=since >= _SETTLED)
        claim(m, "line-rate-limit", (counter == load) & (self.to_charge == 0), when=self.walks[_HIGH].account.reading)
        claim(m, "line-rate-limit", counter <= load)
        self._budget(m, "line-rate-limit", a.turn, counter, since > _SETTLED)

    def _wait(self, m: Module) -> None:
        high, limited = Signal(15), self.limit != LIMIT_UNBOUNDED
        with m.If(~self.has[_LOW] | self.exchanges | (self.decides & self.wins[_LOW])):
            m.d.sync += high.eq(0)
        with m.Elif(self.decides & limited):
            m.d.sync += high.eq(high + 1)
        self.claim(m, "line-rate-wait-low-for-high", high + self.counter <= self.load, when=high != 0)


_CURRENT = (("vl", 4), ("left", 8), ("looks", 1), ("recent", 1), ("stays", 1), ("has", 1), ("wins", 1), ("charged", 1))
