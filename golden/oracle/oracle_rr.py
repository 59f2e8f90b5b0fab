"""Oracle ports of round robin, in addition to those of every scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.golden.oracle.own_ports import OwnPorts, schedule_program, show_nothing
from vlane.golden.schedulers import rr as golden

SHOW = {golden.State: show_nothing}


def own_ports(parameters: Mapping[str, Any]) -> OwnPorts:
    """Return the program port of an instance with a map.

    Other instances have no own ports.
    """
    return OwnPorts(schedule_program(1, "Not used.")) if parameters["requesters"] else OwnPorts()
