"""What is proven of self-clocked fair queueing: tags never overtake virtual time by more than a packet."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, Module, Signal, Value
from vlane.tb.proofs.properties import Instance
from vlane.tb.proofs.prove_scheduler import SchedulerProperties, at

__all__ = ["INSTANCES", "SCFQProperties"]


class SCFQProperties(SchedulerProperties):
    """Self-clocked fair queueing beside its properties."""

    def state(self) -> Value:
        return self.scheduler.virtual_time

    def _own(self, m: Module) -> None:
        s = self.scheduler
        window = 1 << s.reciprocal_bits + 7
        ahead = []
        for requester, tag in enumerate(s.tags):
            offset = Signal(s.tag_bits, name=f"ahead_{requester}")
            m.d.comb += offset.eq(tag - s.virtual_time)
            with m.If(s.has_tag[requester]):
                m.d.comb += Assert(offset < window)
            ahead.append(offset)
        served = s.active & ~s.unreachable
        tagged = s.has_tag & ~s.lost & served
        m.d.comb += Assume(self.watched < s.requesters)
        data = s.grant & s.decides
        with m.If(data & at(list(tagged), self.watched) & (s.winner & tagged).any()):
            for requester in range(s.requesters):
                with m.If(s.winner[requester]):
                    m.d.comb += Assert(ahead[requester] <= at(ahead, self.watched))
        untagged = served & ~(s.has_tag & ~s.lost)
        if s.units == "per_requester":
            m.d.comb += Assert(~s.decides | (s.grant == served.any()))
            return
        alone = (untagged & (untagged - 1)[: s.requesters]) == 0
        m.d.comb += Assert(~s.decides | (s.grant == (served.any() & alone)))
        missing, had = Signal(), Signal(s.requesters)
        m.d.sync += [missing.eq(untagged.any() & ~(s.ready & s.decides)), had.eq(s.has_tag & ~s.lost)]
        with m.If(missing):
            m.d.comb += Assert(((s.has_tag & ~had) != 0) & ((had & ~s.has_tag) == 0))


INSTANCES = (
    Instance(
        "small",
        SCFQProperties,
        {"data_vls": 3, "requesters": 0, "vl15": True, "tag_bits": 13, "reciprocal_bits": 5, "units": "shared"},
    ),
    Instance(
        "mapped",
        SCFQProperties,
        {"data_vls": 4, "requesters": 3, "vl15": False, "tag_bits": 12, "reciprocal_bits": 4, "units": "per_requester"},
    ),
    Instance(
        "four-lanes",
        SCFQProperties,
        {"data_vls": 4, "requesters": 0, "vl15": True, "tag_bits": 12, "reciprocal_bits": 4, "units": "shared"},
    ),
)
"""What is proven."""
