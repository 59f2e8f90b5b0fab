"""Contract of the switches at their links."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data

from vlane.hdl.links.link import blocks_of
from vlane.tb.machinery.proofs.contract import Contract


class SwitchContract(Contract):
    """Contract of the packets on the links (``docs/ib_switch.md``, ``docs/opa_switch.md``).

    Parameters
    ----------
    block : Switch
        The switch.
    """

    assumptions: ClassVar = {
        "framed": "On an input, `first` marks the flit after a packet's last flit, and no other; a flit is on its "
        "packet's lane, and the lane exists.",
        "length": "On an input, `last` marks the flit at which the length in the header ends, and no other.",
    }
    guarantees: ClassVar = {
        "whole": "A packet leaves in consecutive cycles on one lane, `first` and `last` mark its ends, and its length "
        "is that in its header.",
        "started": "A packet begins only in the cycle after one in which its link was ready.",
    }

    def observe(self, m: Module) -> None:
        """Add a model of each link."""
        ready = Signal(len(self.ready))
        m.d.sync += ready.eq(self.ready)
        for number, (rx, tx) in enumerate(zip(self.rx, self.tx, strict=True)):
            goes_on, same_lane, ends = self._link(m, rx, f"rx_{number}")
            lane = (rx.vl < self.parameters.data_vls) & same_lane
            self.claim(m, "framed", (rx.first == ~goes_on) & lane, when=rx.valid)
            self.claim(m, "length", rx.last == ends, when=rx.valid)
            goes_on, same_lane, ends = self._link(m, tx, f"tx_{number}")
            self.claim(m, "whole", tx.valid & ~tx.first & same_lane, when=goes_on)
            self.claim(m, "whole", (tx.first == ~goes_on) & (tx.last == ends), when=tx.valid)
            self.claim(m, "started", ready[number], when=tx.valid & tx.first)

    def _link(self, m: Module, link: Any, name: str) -> tuple[Value, Value, Value]:
        """Return whether a packet is under way, whether a flit keeps its lane, and whether the flit is the last."""
        left, vl = Signal(8, name=f"{name}_left"), Signal.like(link.vl, name=f"{name}_lane")
        goes_on, now = Signal(name=f"{name}_goes_on"), Signal(8, name=f"{name}_flits")
        m.d.comb += now.eq(Mux(link.first, blocks_of(link.data), left))
        with m.If(link.valid):
            m.d.sync += [left.eq(now - 1), vl.eq(link.vl), goes_on.eq(~link.last)]
        return goes_on, ~goes_on | (vl == link.vl), now <= 1


class CreditedSwitchContract(SwitchContract):
    """Contract of a switch that counts blocks returned by the next node."""

    assumptions: ClassVar = {
        **SwitchContract.assumptions,
        "returned-once": "The next node returns no more blocks of a lane than are outstanding.",
    }
    guarantees: ClassVar = {
        **SwitchContract.guarantees,
        "credit": "The blocks of a lane sent and not returned are at most the `maximum` of a lane.",
    }

    def observe(self, m: Module) -> None:
        """Add a count of each lane of each output."""
        super().observe(m)
        given = self.parameters
        out = Signal(data.ArrayLayout(data.ArrayLayout(16, given.data_vls), given.ports))
        for number, (tx, returned) in enumerate(zip(self.tx, self.far_returned, strict=True)):
            for lane in range(given.data_vls):
                sent, back = Signal(16, name=f"sent_{number}_{lane}"), Signal(4, name=f"back_{number}_{lane}")
                starts = tx.valid & tx.first & (tx.vl == lane)
                m.d.comb += [
                    sent.eq(out[number][lane] + Mux(starts, blocks_of(tx.data), 0)),
                    back.eq(Mux(returned.vl == lane, returned.blocks, 0)),
                ]
                m.d.sync += out[number][lane].eq(sent - back)
                self.claim(m, "returned-once", back <= sent)
                self.claim(m, "credit", sent <= given.maximum)


def contract(block: Any) -> Contract | None:
    """Return the contract of a switch, or ``None`` for late decisions or separate crossings of VLs."""
    form = block.parameters.switch_form if hasattr(block.parameters, "switch_form") else None
    if form is not None and (form.late or form.vls_apart):
        return None
    return (CreditedSwitchContract if "far_returned" in block.signature.members else SwitchContract)(block)
