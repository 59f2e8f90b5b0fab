"""The stimulus of each scheduler of the registry: the module ``stimulus_NAME`` beside this one.

Every module has ``qualified`` (``tb/native/stimulus.py``) and ``drawn_writes``, a random table for a switch's output.
Those of schedulers of one list have ``SCENARIOS``, hand-written grants (``tb/schedulers/directed_schedulers.py``), for
instances of ``SCENARIO_PARAMETERS``; those with entries have ``saturating``, traffic that asks for a decision a cycle.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from vlane.schedulers import SCHEDULERS

__all__ = ["crosses", "directed_schedulers", "stimulus"]


def stimulus(name: str) -> Any:
    """Return the module of a scheduler's stimulus."""
    return import_module(f"vlane.tb.schedulers.stimulus_{name}")


def crosses(name: str) -> Any:
    """Return the module of a scheduler's crosses: ``crosses``, those of an instance, and ``EVENTS``."""
    return import_module(f"vlane.tb.schedulers.crosses_{name}")


def directed_schedulers() -> tuple[str, ...]:
    """Return the schedulers that have hand-written grants."""
    return tuple(name for name in SCHEDULERS if hasattr(stimulus(name), "SCENARIOS"))
