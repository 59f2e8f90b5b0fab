"""Proofs of the VL arbiter against reference models of its lists and limit, for every table and input."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, signed

from vlane.egress import ListCode
from vlane.hdl.schedulers.list_walk import ListWalk
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, VL15
from vlane.schedulers.writes import ListSelect
from vlane.tb.machinery.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.machinery.proofs.prove_parity import NO_UPSET, claim_no_upset
from vlane.tb.schedulers.proofs_walk import ListWalkProperties
from vlane.tb.schedulers.vlarb.proofs_line_rate import LineRateProperties
from vlane.tb.tables.proofs_tables import constant

_COUNTED = 16
_LISTS = (ListCode.HIGH, ListCode.LOW)

_STATEMENTS = {
    "vl15-first": "VL15 is granted exactly when its head can be sent, so no data lane is granted then.",
    "no-grant-no-packet": "Without a grant the outputs `vl`, `from_list` and `blocks` are 0.",
    "hold": "While a flow-control packet is due, no data lane is granted.",
    "able": "A granted data lane has a packet that fits.",
    "size": "The output `blocks` is the size of the granted lane's head packet.",
    "table": "The lists and the limit hold the values written last since reset: writes go to the inactive bank, and "
    "an index past the end or a write in the cycle of an exchange changes nothing.",
    "swap": "The banks are exchanged in the first ready cycle from the request on, once per request, and never "
    "otherwise; until then the request is shown as pending.",
    "unreachable": "A data lane is reported unreachable exactly when no active entry with a weight names it.",
    "bad-entries": "The number of bad entries is the number of active entries that name VL15 or an absent lane.",
    "which-list": "High is granted if it has an eligible entry and its limit has not expired, otherwise Low if it has"
    " one, otherwise High.",
    "limit": "The blocks that High may still send are the loaded limit (64 blocks per unit, or 1 block for limit 0) "
    "minus the blocks of the High packets that started since; limit 255 is never reduced.",
    **NO_UPSET,
    "limit-reloaded": "After a decision in which High had expired or had no eligible entry, and after an exchange, "
    "the limit is reloaded, and then reduced by the packet of that decision if it came from High.",
}
_TURNS = {
    "entry": "The served entry names the granted lane and has a weight.",
    "continues": "The current entry of a list is served while it has weight left and its lane can send.",
    "next-in-turn": "No eligible entry lies, in cyclic order, between the current entry and the one served next; the "
    "current entry is last.",
    "pointer": "The current entry of a list is the one to which its last packet was charged, or entry 0 after an "
    "exchange.",
    "weight": "The remaining weight of the current entry is its weight, loaded when it became current or at the "
    "exchange, minus the blocks of the list's packets that started since.",
    "frozen": "In a cycle without a decision or an exchange (not ready, held, or taken by VL15) no pointer, weight "
    "or limit changes; in a decision only the list that sends moves.",
    "turns": "While an entry's lane can send, every other entry of its list has at most one turn after the current "
    "one before the lane is served.",
}
_WAITS = {
    "wait-in-list": "A lane that can send is served after at most as many packets of other lanes from its list as "
    "the sum of the weights of the list's other entries.",
    "wait-low-for-high": "While a Low entry's lane can send and the limit is below 255, High sends at most as many "
    "packets before each Low packet as the limit has blocks (64 per unit, or 1 for limit 0).",
    "wait-high": "A lane of High that can send is served after at most 2 W + 1 decisions for other lanes, where W is"
    " the sum of the weights of the other entries of High, whatever Low has to send.",
    "wait-low": "With limit 0 a lane of Low that can send is served after at most 2 W + 1 decisions for other lanes,"
    " where W is the sum of the weights of the other entries of Low.",
}


class VLArbGrantProperties(Properties):
    """Check the exact form against a reference model of the limit, for one arbitrary entry and lane.

    The model is driven by the inputs and by the list and size of each grant.

    Parameters
    ----------
    arbiter : VLArb
        The component. Its internal signals are observed; nothing in it is changed.
    """

    statements: ClassVar = _STATEMENTS

    def __init__(self, arbiter: Any) -> None:
        super().__init__()
        self.arbiter, self.m = arbiter, Module()
        self.place = constant(self.m, "watched_entry", 6, 0, arbiter.entries - 1)
        self.lane = constant(self.m, "watched_lane", 4, 0, arbiter.data_vls - 1)
        self.bank = constant(self.m, "watched_bank", 1, 0, 1)
        self.side = constant(self.m, "watched_list", 1, 0, 1)
        self.able, self.sizes = Signal(arbiter.requesters), Signal(7 * arbiter.requesters)
        self.starts, self.decides, self.exchanges = Signal(), Signal(), Signal()
        self.from_list = {side: Signal(name=f"from_{side.name.lower()}") for side in _LISTS}
        self.found = {side: Signal(name=f"has_{side.name.lower()}") for side in _LISTS}
        self.pointer = {side: Signal(6, name=f"account_entry_{side.name.lower()}") for side in _LISTS}
        self.left = {side: Signal(signed(10), name=f"account_left_{side.name.lower()}") for side in _LISTS}
        self.arrives = {side: Signal(name=f"arrives_{side.name.lower()}") for side in _LISTS}
        self.turns_away = {side: Signal(8, name=f"turns_away_{side.name.lower()}") for side in _LISTS}
        self.limit, self.limit_left = Signal(8), Signal(signed(17), init=1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.arbiter), self.place, self.lane, self.bank, self.side]

    def elaborate(self, _platform: object) -> Module:
        m = self.m
        m.submodules.arbiter = self.arbiter
        self._outputs(m)
        self._tables(m)
        self._upset(m)
        self._limit(m)
        self._lists(m)
        return m

    def _lists(self, m: Module) -> None:
        """Claim the additional properties of the lists. The base class has none."""

    def _upset(self, m: Module) -> None:
        if self.arbiter.parameters.parity:
            claim_no_upset(self, m, self.arbiter)

    def entries(self, side: ListCode) -> list[Any]:
        """Return the entries of a list in the active bank, which the property ``table`` claims to be as written."""
        active = self.arbiter.banks.high if side is ListCode.HIGH else self.arbiter.banks.low
        return [active[index] for index in range(self.arbiter.entries)]

    def _names(self, entry: Any) -> Value:
        return (entry.weight != 0) & (entry.vl < self.arbiter.data_vls)

    def _eligible(self, entry: Any) -> Value:
        """Return whether an entry has a weight and names a data lane that can send."""
        return self._names(entry) & self.able.bit_select(entry.vl, 1)

    def _outputs(self, m: Module) -> None:
        a, claim = self.arbiter, self.claim
        vl15_able = self.able[a.data_vls] if a.vl15 else Value.cast(0)
        listed = Value.cast(a.from_list)
        from_vl15, from_data = listed == int(ListCode.VL15), Signal()
        m.d.comb += [
            self.able.eq(a.heads.request & a.heads.fits),
            self.starts.eq(a.grant & a.ready),
            self.decides.eq(a.ready & ~a.hold_data & ~vl15_able),
            *(self.from_list[side].eq(listed == int(side)) for side in _LISTS),
            *(self.found[side].eq(Cat(self._eligible(each) for each in self.entries(side)).any()) for side in _LISTS),
            from_data.eq(a.grant & ~from_vl15),
        ]
        claim(m, "vl15-first", (from_vl15 == vl15_able) & (from_vl15 == (a.grant & (a.vl == VL15))))
        if a.vl15:
            claim(m, "vl15-first", a.grant & (a.blocks == a.heads.blocks[a.data_vls]), when=vl15_able)
        claim(m, "no-grant-no-packet", Cat(a.vl, a.blocks, listed) == 0, when=~a.grant)
        claim(m, "hold", ~from_data, when=a.hold_data)
        claim(m, "able", (a.vl < a.data_vls) & self.able.bit_select(a.vl, 1), when=from_data)
        sizes = Array(a.heads.blocks[lane] for lane in range(a.data_vls))
        claim(m, "size", a.blocks == sizes[a.vl], when=from_data)
        high, low = (self.found[side] for side in _LISTS)
        may = ~a.hold_data & ~vl15_able
        uses_high = high & ((self.limit_left > 0) | ~low)
        claim(m, "which-list", self.from_list[ListCode.HIGH] == uses_high, when=may)
        claim(m, "which-list", self.from_list[ListCode.LOW] == (low & ~uses_high), when=may)
        claim(m, "which-list", a.grant == (high | low), when=may)

    def _tables(self, m: Module) -> None:
        a, claim, banks = self.arbiter, self.claim, self.arbiter.banks
        active, pending, kept, limits = Signal(), Signal(), Signal(12), Signal(8)
        program, wanted = a.program, a.swap | pending
        is_active = active == self.bank
        m.d.comb += self.exchanges.eq(wanted & a.ready)
        m.d.sync += [pending.eq(wanted & ~a.ready), active.eq(active ^ self.exchanges)]
        select = Value.cast(program.select)
        chosen = Mux(self.side, int(ListSelect.LOW), int(ListSelect.HIGH))
        with m.If(program.enable & ~self.exchanges & ~is_active):
            with m.If((select == chosen) & (program.index == self.place)):
                m.d.sync += kept.eq(Cat(program.vl, program.weight))
            with m.If(select == int(ListSelect.LIMIT)):
                m.d.sync += limits.eq(program.weight)
        stored = Array(Value.cast(each) for bank in banks.lists for each in bank)[Cat(self.side, self.bank)]
        claim(m, "table", stored.word_select(self.place, 12) == kept)
        claim(m, "table", Array(banks.limits)[self.bank] == limits)
        shown = Mux(self.side, Value.cast(banks.low), Value.cast(banks.high)).word_select(self.place, 12)
        claim(m, "table", (shown == kept) & (banks.limit == limits), when=is_active)
        claim(m, "table", banks.shadow_limit == limits, when=~is_active)
        first = Mux(self.side, banks.shadow_first[1], banks.shadow_first[0])
        claim(m, "table", first == kept[4:], when=~is_active & (self.place == 0))
        claim(m, "swap", (a.swap_pending == pending) & (banks.active == active))
        claim(m, "swap", banks.exchange == self.exchanges)
        entries = [entry for side in _LISTS for entry in self.entries(side)]
        named = Cat((entry.vl == self.lane) & (entry.weight != 0) for entry in entries).any()
        claim(m, "unreachable", a.unreachable.bit_select(self.lane, 1) == ~named)
        claim(m, "bad-entries", a.bad_entries == sum(entry.vl >= a.data_vls for entry in entries))

    def _limit(self, m: Module) -> None:
        """Model the limit: the loaded value minus the blocks of High packets that started."""
        a, claim, left = self.arbiter, self.claim, self.limit_left
        limit, shadow = a.banks.limit, a.banks.shadow_limit
        renewed, before = Signal(signed(17)), Signal(signed(17))
        runs_out, sent, was_limit = Signal(), Signal(8), Signal(8)
        m.d.comb += [
            renewed.eq(Mux((left <= 0) | ~self.found[ListCode.HIGH], _blocks_of_limit(limit), left)),
            before.eq(Mux(self.decides, renewed, left)),
        ]
        m.d.sync += left.eq(before)
        charged = self.decides & self.from_list[ListCode.HIGH] & (limit != LIMIT_UNBOUNDED)
        with m.If(charged):
            m.d.sync += left.eq(before - a.blocks)
        with m.If(self.exchanges):
            m.d.sync += left.eq(_blocks_of_limit(shadow))
        m.d.sync += [
            runs_out.eq(self.decides & ~self.exchanges & ((left <= 0) | ~self.found[ListCode.HIGH])),
            sent.eq(Mux(charged, a.blocks, 0)),
            was_limit.eq(limit),
        ]
        exchanged = Signal()
        m.d.sync += exchanged.eq(self.exchanges)
        claim(m, "limit", a.counter == left)
        claim(m, "limit", (left <= _blocks_of_limit(limit)) & (left > -128))
        claim(m, "limit-reloaded", a.counter == _blocks_of_limit(was_limit) - sent, when=runs_out)
        claim(m, "limit-reloaded", a.counter == _blocks_of_limit(limit), when=exchanged)
        claim(m, "limit", left > 0, when=limit == LIMIT_UNBOUNDED)


class VLArbTurnProperties(VLArbGrantProperties):
    """Check, in addition, each list's current entry and its remaining weight against a model.

    The model is driven by the list, lane and size of each grant, and by the served entry.
    """

    statements: ClassVar = {**_STATEMENTS, **_TURNS}

    def _lists(self, m: Module) -> None:
        for side in _LISTS:
            self._list(m, side)
            self._waits(m, side)
        self._claim_frozen(m)

    def _list(self, m: Module, side: ListCode) -> None:
        """Model a list: its current entry and the entry's remaining weight."""
        a, claim, search = self.arbiter, self.claim, self.arbiter.searches[side]
        pointer, left, arrives = self.pointer[side], self.left[side], self.arrives[side]
        entries, serves = self.entries(side), self.from_list[side]
        chosen, current, watched = (_at(entries, index) for index in (search.entry, pointer, self.place))
        goes_on = Signal(name=f"goes_on_{side.name.lower()}")
        m.d.comb += [goes_on.eq((left > 0) & self._eligible(current)), arrives.eq(serves & ~goes_on)]
        claim(m, "entry", (chosen.vl == a.vl) & (chosen.weight != 0) & (search.entry < a.entries), when=serves)
        claim(m, "continues", search.entry == pointer, when=serves & goes_on)
        distance = self.turns_away[side]
        m.d.comb += distance.eq(self._distance(pointer, self.place))
        m_eligible = Signal(name=f"watched_eligible_{side.name.lower()}")
        m.d.comb += m_eligible.eq(self._eligible(watched))
        claim(m, "next-in-turn", self._distance(pointer, search.entry) <= distance, when=arrives & m_eligible)
        with m.If(serves & self.decides):
            m.d.sync += [pointer.eq(search.entry), left.eq(Mux(goes_on, left, chosen.weight) - a.blocks)]
        with m.If(self.exchanges):
            m.d.sync += [pointer.eq(0), left.eq(a.banks.shadow_first[side is ListCode.LOW])]
        claim(m, "pointer", (a.pointers[side] == pointer) & (pointer < a.entries))
        claim(m, "weight", a.remaining[side] == left)
        claim(m, "weight", left <= current.weight)
        claim(m, "weight", left > -128)

    def _distance(self, pointer: Value, place: Value) -> Value:
        """Return the cyclic distance from the current entry to another, 1 to the number of entries."""
        return (Mux(pointer < place, place, place + self.arbiter.entries) - pointer)[:8]

    def _waits(self, m: Module, side: ListCode) -> None:
        """Count the turns of other entries while the watched entry's lane can send."""
        name, distance = side.name.lower(), self.turns_away[side]
        watched = _at(self.entries(side), self.place)
        turns, served, waits = Signal(8, name=f"turns_{name}"), Signal(), Signal(name=f"waits_{name}")
        m.d.comb += [
            waits.eq(self._eligible(watched) & ~self.exchanges),
            served.eq(self.decides & self.arbiter.grant & (self.arbiter.vl == watched.vl)),
        ]
        with m.If(~waits | served):
            m.d.sync += turns.eq(0)
        with m.Elif(self.decides & self.arrives[side]):
            m.d.sync += turns.eq(turns + 1)
        self.claim(m, "turns", turns + distance <= self.arbiter.entries, when=turns != 0)

    def _claim_frozen(self, m: Module) -> None:
        a = self.arbiter
        for side in _LISTS:
            state = Cat(a.pointers[side], a.remaining[side])
            before, still = Signal.like(state), Signal(name=f"still_{side.name.lower()}")
            m.d.sync += [before.eq(state), still.eq(~(self.decides & self.from_list[side]) & ~self.exchanges)]
            self.claim(m, "frozen", state == before, when=still)
        counter, idle = Signal.like(a.counter), Signal()
        m.d.sync += [counter.eq(a.counter), idle.eq(~self.decides & ~self.exchanges)]
        self.claim(m, "frozen", a.counter == counter, when=idle)


class VLArbProperties(VLArbTurnProperties):
    """Check, in addition, a bound on the packets for which a lane waits, computed from the weights of a short list."""

    statements: ClassVar = {**_STATEMENTS, **_TURNS, **_WAITS}

    def _waits(self, m: Module, side: ListCode) -> None:
        super()._waits(m, side)
        a, claim, name, limit = self.arbiter, self.claim, side.name.lower(), self.arbiter.banks.limit
        entries = self.entries(side)
        watched = _at(entries, self.place)
        others, before = (Signal(_COUNTED, name=f"{what}_{name}") for what in ("others", "before"))
        m.d.comb += [
            others.eq(sum(Mux(self.place == index, 0, entry.weight) for index, entry in enumerate(entries))),
            before.eq(self._weight_before(side)),
        ]
        sized = Cat((a.heads.blocks[i] != 0) | ~self.able[i] for i in range(a.data_vls)).all()
        waits, passed = Signal(name=f"counts_{name}"), Signal(name=f"passed_{name}")
        waited = Signal(name=f"waited_{name}")
        m.d.comb += [
            waits.eq(self._eligible(watched) & sized & ~self.exchanges),
            passed.eq(self.decides & (a.vl != watched.vl)),
        ]
        left = _positive(self.limit_left)
        packets, total, given = (Signal(_COUNTED + 8, name=f"{what}_{name}") for what in ("packets", "total", "given"))
        with m.If(~waits | (self.decides & ~passed)):
            m.d.sync += [packets.eq(0), total.eq(0), waited.eq(0)]
        with m.Elif(passed):
            m.d.sync += [packets.eq(packets + self.from_list[side]), total.eq(total + 1), waited.eq(1)]
            with m.If(~waited):
                m.d.sync += given.eq(before)
        claim(m, "wait-in-list", before <= others)
        claim(m, "wait-in-list", (packets == 0) & (total == 0), when=~waited)
        claim(m, "wait-in-list", (packets + before <= given) & (given <= others), when=waited)
        if side is ListCode.HIGH:
            claim(m, "wait-high", total + 2 * before + (left == 0) <= 2 * given + 1, when=waited)
            return
        high = Signal(_COUNTED)
        with m.If(~waits | (self.decides & ~self.from_list[ListCode.HIGH])):
            m.d.sync += high.eq(0)
        with m.Elif(self.decides & (limit != LIMIT_UNBOUNDED)):
            m.d.sync += high.eq(high + 1)
        claim(m, "wait-low-for-high", high + left <= _blocks_of_limit(limit), when=high != 0)
        claim(m, "wait-low", total + 2 * before + left <= 2 * given + 1, when=waited & (limit == 0))

    def _weight_before(self, side: ListCode) -> Value:
        """Return the remaining weight of the current entry plus the weights between it and the watched entry."""
        pointer, left, watched = self.pointer[side], self.left[side], self.place
        total: Value = Value.cast(0)
        for index, entry in enumerate(self.entries(side)):
            inside = (pointer < index) & (index < watched)
            around = (pointer < index) | (index < watched)
            is_before = Mux(pointer < watched, inside, around) & (watched != index)
            part = Mux((pointer == index) & (watched != index), _positive(left), Mux(is_before, entry.weight, 0))
            total = total + Mux((pointer == watched) & (left > 0), 0, part)
        return total


def _blocks_of_limit(limit: Value) -> Value:
    """Return the blocks of a limit: 64 per unit of 4096 bytes, or 1 for limit 0, which allows one packet."""
    return Mux(limit == 0, 1, 64 * limit)


def _positive(value: Value) -> Value:
    return Mux(value > 0, value, 0)


def _at(entries: list[Any], index: Value) -> Any:
    """Return the entry at an index."""
    return Array(entries)[index]


_SMALL, _ODD = {"data_vls": 2, "entries": 4, "vl15": True}, {"data_vls": 3, "entries": 5, "vl15": False}
INSTANCES = (
    Instance("small", VLArbTurnProperties, _SMALL),
    Instance("odd", VLArbTurnProperties, _ODD),
    Instance("wait", VLArbProperties, {"data_vls": 2, "entries": 2, "vl15": False}),
    Instance("parity", VLArbGrantProperties, {"data_vls": 2, "entries": 4, "vl15": False, "parity": True}),
    Instance("walk", ListWalkProperties, {"data_vls": 2, "entries": 4, "lane_bits": 4}, ListWalk),
    Instance("walk-rows", ListWalkProperties, {"data_vls": 2, "entries": 9, "lane_bits": 4}, ListWalk),
    Instance("line-rate-small", LineRateProperties, {"data_vls": 2, "entries": 4, "vl15": True, "form": "line_rate"}),
)
"""Proven instances: small; odd sizes; waiting times; with parity; then the line-rate form."""
