"""Schedulers of plug-ins: parameters, table of weights and registry record."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from vlane.documents.whole import whole_list
from vlane.egress import MAX_REQUESTERS, SchedulerParameters
from vlane.plugins import found, plugins_of
from vlane.schedulers.registry import SCHEDULERS, Scheduler, Section
from vlane.schedulers.writes import Write, too_long, value_writes

MAX_WEIGHT = (1 << 31) - 1

TIMES = ("cycle", "arrivals")
"""Last parameters of a plug-in's function that uses the cycle and the arrivals of heads."""


def uses_times(function: Callable[..., Any]) -> bool:
    """Return whether a function of a plug-in has the parameters ``TIMES``."""
    return tuple(inspect.signature(function).parameters)[-len(TIMES) :] == TIMES


@dataclass(frozen=True, slots=True)
class PluggedWeights:
    """Weights of a plug-in's scheduler, in the scheduler's own unit.

    Parameters
    ----------
    name : str
        Name of the scheduler.
    weight : tuple of int
        Weight of each requester, 0 to 2**31 - 1.

    Raises
    ------
    InputError
        If a weight is out of range; the error names the requester.
    """

    name: str
    weight: tuple[int, ...]

    def __post_init__(self) -> None:
        checked = whole_list(f"{self.name}.weight", self.weight, least=0, most=MAX_WEIGHT, longest=MAX_REQUESTERS)
        object.__setattr__(self, "weight", checked)

    def writes(self, parameters: Mapping[str, Any]) -> list[Write]:
        """Return the writes that program an instance. Requesters without an entry get weight 0.

        Raises
        ------
        InputError
            If there are more weights than requesters.
        """
        most = parameters["requesters"] or parameters["data_vls"]
        if len(self.weight) > most:
            raise too_long(f"{self.name}.weight", most, len(self.weight))
        return value_writes(self.weight, most)

    def shape(self) -> dict[str, int]:
        """Return an empty mapping: no parameter of an instance depends on the table."""
        return {}

    def requesters(self) -> int:
        """Return the number of weights."""
        return len(self.weight)

    def served(self) -> dict[str, int]:
        """Return the number of each requester with a nonzero weight, by the key of the weight in the file."""
        return {f"{self.name}.weight[{sl}]": sl for sl, weight in enumerate(self.weight) if weight}


_LONGEST_PAUSE = 1 << 16
"""Cycles without a choice after which ``vlane egress`` assumes that a scheduler that sees the time never sends."""


def plugged_scheduler(name: str, *, title: str, weights: bool, sees_time: bool = False) -> Scheduler:
    """Return the registry record of a plug-in's scheduler.

    Parameters
    ----------
    name, title : str
        Name in files, and name for people.
    weights : bool
        Whether table files have a section with its weights.
    sees_time : bool
        Whether decisions depend on the cycle and on the arrivals of heads.
    """
    section = (
        Section(
            partial(PluggedWeights, name),
            {"weight": (list[int], ...)},
            {"weight": f"Weight of each requester, 0 to {MAX_WEIGHT}, in the scheduler's own unit."},
            "a weight",
        )
        if weights
        else None
    )
    return Scheduler(
        name=name,
        title=title,
        parameters=SchedulerParameters,
        section=section,
        patience=_LONGEST_PAUSE if sees_time else MAX_REQUESTERS,
        in_switch={"requesters": 0},
    )


def find_scheduler(name: str) -> Scheduler:
    """Return a built-in scheduler or one of a plug-in.

    Raises
    ------
    KeyError
        If there is no scheduler with the name.
    """
    plugin = found("scheduler", name)
    return plugin.options["record"] if plugin else SCHEDULERS[name]


def scheduler_names() -> list[str]:
    """Return the names of all schedulers, plug-ins last."""
    return [*SCHEDULERS, *plugins_of("scheduler")]
