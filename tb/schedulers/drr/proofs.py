"""Proofs of deficit round robin."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Const, Module, Signal, Value

from vlane.schedulers.writes import ScheduleSelect
from vlane.tb.machinery.proofs.properties import Instance
from vlane.tb.schedulers.proofs_deficit import DeficitProperties
from vlane.tb.tables.proofs_tables import at


class DRRProperties(DeficitProperties):
    """Check deficit round robin. An entry is a requester, and its weight is the quantum."""

    statements: ClassVar = {
        **DeficitProperties.statements,
        "quantum": "A requester's quantum is the value written last, from the next cycle on, and initially 0.",
    }

    def table(self, m: Module) -> list[tuple[Value, Value]]:
        s, program, quantum = self.scheduler, self.scheduler.program, Signal(8)
        selected = Value.cast(program.select) == int(ScheduleSelect.TABLE)
        with m.If(program.enable & selected & (program.index == self.watched)):
            m.d.sync += quantum.eq(program.weight)
        self.claim(m, "quantum", at(s.quanta, self.watched) == quantum)
        return [(Const(requester, 5), value) for requester, value in enumerate(s.quanta)]


INSTANCES = (
    Instance(
        "small", DRRProperties, {"data_vls": 3, "requesters": 0, "vl15": True, "keep_on_stall": False, "mtu_blocks": 66}
    ),
    Instance(
        "mapped",
        DRRProperties,
        {"data_vls": 4, "requesters": 3, "vl15": False, "keep_on_stall": True, "mtu_blocks": 33},
    ),
    Instance(
        "full", DRRProperties, {"data_vls": 15, "requesters": 0, "vl15": True, "keep_on_stall": False, "mtu_blocks": 66}
    ),
)
"""Proven instances: small; with a map and kept deficits; full size."""
