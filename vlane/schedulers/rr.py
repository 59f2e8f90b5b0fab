"""Round robin: parameters, and registers for the map from lanes to requesters (there is no table)."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.egress import SchedulerParameters


@dataclass(frozen=True, eq=False, kw_only=True)
class RRParameters(SchedulerParameters):
    """Parameters of ``rr``, those of all schedulers with a single list."""
