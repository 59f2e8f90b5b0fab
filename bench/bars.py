"""Bars of a bench: a value, its target, and whether it is reached."""

from __future__ import annotations

from typing import Any

__all__ = ["at_least", "at_most"]


def at_most(name: str, value: float, target: float, **more: Any) -> dict[str, Any]:
    """Return a bar that is reached by the target or less. ``more`` is printed with the bar."""
    return {"bar": name, "value": value, "target": target, "reached": value <= target, **more}


def at_least(name: str, value: float, target: float, **more: Any) -> dict[str, Any]:
    """Return a bar that is reached by the target or more."""
    return {"bar": name, "value": value, "target": target, "reached": value >= target, **more}
