"""Oracle ports of round robin, in addition to those of every scheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vlane.golden.oracle.own_ports import SpecificPorts, schedule_program

SHOW: dict[type, Callable[..., None]] = {}


def own_ports(parameters: Mapping[str, Any]) -> SpecificPorts:
    """Return the program port of an instance with a map. Other instances have no own ports."""
    return SpecificPorts(schedule_program(1, "Not used.")) if parameters["requesters"] else SpecificPorts()
