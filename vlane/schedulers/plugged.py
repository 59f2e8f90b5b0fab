"""What vlane knows of the scheduler of a plug-in: its parameters, its table of weights, its entry as a scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from vlane.documents.whole import whole_list
from vlane.egress import MAX_REQUESTERS, SchedulerParameters
from vlane.errors import InputError
from vlane.plugins import found, plugins_of
from vlane.schedulers.registry import SCHEDULERS, Scheduler, Section
from vlane.schedulers.writes import Write, value_writes

MAX_WEIGHT = (1 << 31) - 1
_NUMBER = 1 << 15
"""In no identity register: a plug-in has no hardware."""


@dataclass(frozen=True, slots=True)
class PluggedWeights:
    """Weights that a plug-in's scheduler is given, in whatever unit it takes them.

    Parameters
    ----------
    name : str
        The scheduler.
    weight : tuple of int
        Of each requester, 0 to 2**31 - 1.

    Raises
    ------
    InputError
        Naming the requester and what its weight must be.
    """

    name: str
    weight: tuple[int, ...]

    def __post_init__(self) -> None:
        checked = whole_list(f"{self.name}.weight", self.weight, least=0, most=MAX_WEIGHT, longest=MAX_REQUESTERS)
        object.__setattr__(self, "weight", checked)

    def writes(self, parameters: Mapping[str, Any]) -> list[Write]:
        """Return the writes that program an instance; requesters beyond the list get weight 0.

        Raises
        ------
        InputError
            If there are more weights than requesters.
        """
        most = parameters["requesters"] or parameters["data_vls"]
        if len(self.weight) > most:
            raise InputError(f"{self.name}.weight", f"at most {most} long here", len(self.weight))
        return value_writes(self.weight, most)

    def shape(self) -> dict[str, int]:
        """Return nothing: a weight is there for each requester."""
        return {}

    def requesters(self) -> int:
        """Return the number of weights."""
        return len(self.weight)

    def served(self) -> dict[str, int]:
        """Return the requesters with a weight, by their place in the file."""
        return {f"{self.name}.weight[{sl}]": sl for sl, weight in enumerate(self.weight) if weight}


def plugged_scheduler(name: str, *, title: str, weights: bool) -> Scheduler:
    """Return what vlane knows of a plug-in's scheduler; ``weights`` tells whether a table file gives it any."""
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
        number=_NUMBER,
        parameters=SchedulerParameters,
        section=section,
        registers=lambda _: (),
        switch_registers=lambda _: (),
        patience=MAX_REQUESTERS,
        in_switch={"requesters": 0},
    )


def find_scheduler(name: str) -> Scheduler:
    """Return a scheduler of vlane or of a plug-in.

    Raises
    ------
    KeyError
        If there is none.
    """
    plugin = found("scheduler", name)
    return plugin.options["record"] if plugin else SCHEDULERS[name]


def scheduler_names() -> list[str]:
    """Return the names of all schedulers, those of plug-ins last."""
    return [*SCHEDULERS, *plugins_of("scheduler")]
