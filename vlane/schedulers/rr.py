"""Round robin: parameters, and registers for the map from lanes to requesters (there is no table)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vlane.egress import SchedulerParameters
from vlane.registers import Register
from vlane.schedulers.schedule_registers import map_window


def registers(parameters: Mapping[str, Any]) -> tuple[Register, ...]:
    """Return the registers of an instance, or none without a map."""
    return (map_window(),) if parameters["requesters"] else ()


def switch_registers(_program: str) -> tuple[Register, ...]:
    """Return no registers: a switch's schedulers have nothing to program."""
    return ()


@dataclass(frozen=True, eq=False, kw_only=True)
class RRParameters(SchedulerParameters):
    """Parameters of ``rr``, those of all schedulers with a single list."""
