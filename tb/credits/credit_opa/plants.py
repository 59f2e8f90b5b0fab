"""Planted bugs of Omni-Path credits."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_PORT, _RECEIVER = "hdl/credits/credit_opa.py", "hdl/credits/credit_opa_receiver.py"
_RULE = "hdl/credits/room_rule.py"
PLANTS = (
    Plant(
        "return-lost-with-a-grant",
        "A return that arrives in the cycle of a grant of its lane is lost.",
        _PORT,
        "left = Mux(self.returns[vl], Mux(short[vl], 0, used - self.returned), used)",
        "left = Mux(self.returns[vl] & ~self.grant[vl], Mux(short[vl], 0, used - self.returned), used)",
    ),
    Plant(
        "code-of-one-unit",
        "Code 1 returns a credit unit instead of a single unit of 64 bytes.",
        _PORT,
        "m.d.comb += self.sender.returned.eq(1 if code == 1 else 1 << (code - 1 + self.vcu))",
        "m.d.comb += self.sender.returned.eq(1 << (code - 1 + self.vcu))",
        instance="large-unit",
        parameters={"vcu": 2},
    ),
    Plant(
        "freed-while-returning",
        "Units that are freed in the cycle in which a return of their lane begins are lost.",
        _RECEIVER,
        "self.stored.write(m, self.owed[vl], self.owed[vl] - taken + Mux(self.freed[vl], self.freed_blocks, 0))",
        "self.stored.write(m, self.owed[vl], Mux(taken.any(), self.owed[vl] - taken, self.owed[vl] +"
        " Mux(self.freed[vl], self.freed_blocks, 0)))",
        instance="receiver",
    ),
    Plant(
        "returns-too-much",
        "A return carries a code for more units than are owed.",
        _RECEIVER,
        "with m.If(owed >= amount):",
        "with m.If(owed >= amount >> 1):",
        instance="receiver",
    ),
    Plant(
        "same-lane-first",
        "The search for the next return always begins at lane 0.",
        _RECEIVER,
        "self.stored.write(m, last, search.entry)",
        "self.stored.write(m, last, self.vls - 1)",
        instance="receiver",
    ),
    Plant(
        "shared-before-dedicated",
        "Units count as shared while dedicated ones are left.",
        _RULE,
        "return Mux(held > minimum, held - minimum, 0)",
        "return held",
    ),
    Plant(
        "others-share-is-forgotten",
        "A lane may use all shared units, even those that other lanes use.",
        _RULE,
        "return (after <= maximum) & (others + beyond(after, minimum) <= shared)",
        "return (after <= maximum) & (beyond(after, minimum) <= shared)",
    ),
    Plant(
        "dedicated-raised-too-early",
        "Dedicated limits grow although units above the other lanes' limits have not come back.",
        _PORT,
        "with m.Case(ResizeStep.DRAIN_DEDICATED), m.If(drained):",
        "with m.Case(ResizeStep.DRAIN_DEDICATED):",
    ),
)
"""Planted bugs, each a change of one line."""
