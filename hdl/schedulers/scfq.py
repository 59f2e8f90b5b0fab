"""Self-clocked fair queueing: serve the requester with the least finishing tag."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.list_search import ListSearch
from vlane.hdl.common.select import one_of
from vlane.hdl.schedulers.base import Scheduler, ScheduleSignature
from vlane.schedulers.scfq import SCFQParameters

__all__ = ["COMPONENT", "SCFQ"]


@dataclass(frozen=True, slots=True)
class _Candidate:
    valid: Value
    tag: Value
    alone: Value


class SCFQ(Scheduler):
    """Self-clocked fair queueing with reciprocal weights (Golestani 1994, ``docs/scfq.md``).

    Latency 0. Reset sets every reciprocal to 0: no requester is served.

    Parameters
    ----------
    parameters : SCFQParameters
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
        Size of the granted packet in blocks; 0 without a grant.
    program : In(ScheduleSignature(reciprocal_bits))
        Write port of the reciprocals and of the map; a new value is in force from the next cycle on.
    unreachable : Out(requesters)
        Requesters with reciprocal 0. They are never served.
    virtual_time : Out(tag_bits)
        Tag of the packet served last; 0 after the scheduler was idle.
    """

    def __init__(self, parameters: SCFQParameters) -> None:
        self.parameters = p = parameters
        self.tag_bits, self.reciprocal_bits, self.units = p.tag_bits, p.reciprocal_bits, p.units
        count = p.count
        members: dict[str, object] = {
            "program": In(ScheduleSignature(p.reciprocal_bits)),
            "unreachable": Out(count),
            "virtual_time": Out(p.tag_bits),
        }
        super().__init__(parameters, members)
        self.reciprocals = [Signal(p.reciprocal_bits, name=f"reciprocal_{r}") for r in range(count)]
        self.tags = [Signal(p.tag_bits, name=f"tag_{r}") for r in range(count)]
        self.has_tag = Signal(count)
        self.unit_last = Signal(range(count), init=count - 1)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self.frame(m)
        served, untagged, missing = (Signal(self.requesters, name=n) for n in ("served", "untagged", "missing"))
        tagged = self.has_tag & ~self.lost
        m.d.comb += [
            self.unreachable.eq(~Cat(reciprocal.any() for reciprocal in self.reciprocals)),
            served.eq(self.active & ~self.unreachable),
            self.held.eq(self.has_tag),
            untagged.eq(served & ~tagged),
        ]
        shared = self.units == "shared"
        tags = self._shared_unit(m, untagged, missing) if shared else self._own_units(m, untagged)
        least = self._least(m, served, tags)
        m.d.comb += [self.sends.eq(least.valid & ~missing.any()), self.winner.eq(least.alone)]
        self.note_winner(m)
        with m.If(self.ready & self.decides):
            m.d.sync += self.has_tag.eq(served & ~missing & ~Mux(self.sends, least.alone, 0))
            with m.If(self.sends):
                m.d.sync += self.virtual_time.eq(least.tag)
            with m.Elif(~least.valid):
                m.d.sync += self.virtual_time.eq(0)
        for requester, reciprocal in enumerate(self.reciprocals):
            with m.If(self.table_write(requester)):
                m.d.sync += reciprocal.eq(self.program.weight)
        return m

    def _own_units(self, m: Module, untagged: Signal) -> list[Value]:
        """Compute every missing tag at once, within the decision."""
        m.d.sync += self.has_tag.eq(self.has_tag & ~self.lost)
        tags = []
        for requester, kept in enumerate(self.tags):
            made = Signal(self.tag_bits, name=f"made_{requester}")
            m.d.comb += made.eq(self.virtual_time + self.sizes[requester] * self.reciprocals[requester])
            with m.If(self.ready & self.decides & untagged[requester]):
                m.d.comb += self.takes_lane[requester].eq(1)
                m.d.sync += kept.eq(made)
            tags.append(Mux(untagged[requester], made, kept))
        return tags

    def _shared_unit(self, m: Module, untagged: Signal, missing: Signal) -> list[Value]:
        """Compute one missing tag per cycle, round robin. The new tag takes part in this cycle's decision."""
        m.submodules.unit = unit = ListSearch(self.requesters)
        made, size, reciprocal = Signal(self.tag_bits), Signal(7), Signal(self.reciprocal_bits)
        m.d.comb += [
            size.eq(one_of(unit.chosen, (Value.cast(self.sizes[r]) for r in range(self.requesters)))),
            reciprocal.eq(one_of(unit.chosen, self.reciprocals)),
            unit.eligible.eq(untagged),
            unit.pointer.eq(self.unit_last),
            unit.weight_left.eq(0),
            missing.eq(untagged & ~unit.chosen),
            made.eq(self.virtual_time + size * reciprocal),
        ]
        m.d.comb += self.takes_lane.eq(unit.chosen)
        m.d.sync += self.has_tag.eq((self.has_tag & ~self.lost) | unit.chosen)
        with m.If(unit.found):
            m.d.sync += self.unit_last.eq(unit.entry)
        for requester, tag in enumerate(self.tags):
            with m.If(unit.chosen[requester]):
                m.d.sync += tag.eq(made)
        return [Mux(unit.chosen[r], made, self.tags[r]) for r in range(self.requesters)]

    def _least(self, m: Module, valid: Value, tags: list[Value]) -> _Candidate:
        """Return the least tag (on a tie the lowest requester's) by a tree of comparisons modulo the tag width."""
        level = [_Candidate(valid[r], tags[r], Value.cast(1 << r)) for r in range(self.requesters)]
        depth = 0
        while len(level) > 1:
            pairs = [self._lesser(m, level[i], level[i + 1], f"{depth}_{i}") for i in range(0, len(level) - 1, 2)]
            level = pairs + level[len(pairs) * 2 :]
            depth += 1
        return level[0]

    def _lesser(self, m: Module, first: _Candidate, second: _Candidate, where: str) -> _Candidate:
        behind = Signal(self.tag_bits, name=f"behind_{where}")
        takes_second = Signal(name=f"second_{where}")
        tag = Signal(self.tag_bits, name=f"least_{where}")
        alone = Signal(self.requesters, name=f"alone_{where}")
        m.d.comb += [
            behind.eq(second.tag - first.tag),
            takes_second.eq(second.valid & (~first.valid | behind[-1])),
            tag.eq(Mux(takes_second, second.tag, first.tag)),
            alone.eq(Mux(takes_second, second.alone, Mux(first.valid, first.alone, 0))),
        ]
        return _Candidate(first.valid | second.valid, tag, alone)


COMPONENT = SCFQ
"""Component that ``by_name`` returns."""
