"""Construction of the plain scheduler that matches a golden port's settings."""

from __future__ import annotations

from typing import Any

from vlane.golden.network.assembly import PortSettings
from vlane.golden.plain.deficits import DRR, DTable
from vlane.golden.plain.link import Serve
from vlane.golden.plain.schedulers import RR, SCFQ, WRR, Scheduler, VLArb, serve_of

_SCHEDULERS: dict[str, type[Any]] = {"rr": RR, "wrr": WRR, "drr": DRR, "dtable": DTable, "scfq": SCFQ, "vlarb": VLArb}
_PARAMETERS = {"requesters", "entries", "keep_on_stall", "mtu_blocks"}
"""Parameters that change decisions. All others are widths and forms."""


def plain_serve(settings: PortSettings, lanes: int) -> Serve:
    """Return the decision function of a plain scheduler with the tables of the settings."""
    assert settings.parameters.get("form") != "line_rate", "a form that works ahead"
    given = {key: value for key, value in settings.parameters.items() if key in _PARAMETERS}
    scheduler: Scheduler = _SCHEDULERS[settings.scheduler](lanes, settings.writes, **given)
    return serve_of(scheduler)
