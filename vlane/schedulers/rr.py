"""Round robin has no table: its registers hold the map from lanes to requesters alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vlane.egress import SchedulerParameters
from vlane.registers import Register
from vlane.schedulers.schedule_registers import map_window


def registers(parameters: Mapping[str, Any]) -> tuple[Register, ...]:
    """Return the registers of an instance; one without a map has none."""
    return (map_window(),) if parameters["requesters"] else ()


def switch_registers(_program: str) -> tuple[Register, ...]:
    """Return the registers of a switch's schedulers: none, as there is nothing to program."""
    return ()


@dataclass(frozen=True, eq=False, kw_only=True)
class RRParameters(SchedulerParameters):
    """Parameters of ``rr``: those that every scheduler of one list has."""
