"""Checks that a component makes of its parameters."""

from __future__ import annotations

from vlane.errors import InputError

__all__ = ["check_flag", "check_range"]


def check_range(name: str, value: object, least: int, most: int) -> None:
    """Raise ``TypeError`` or ``ValueError`` unless a parameter is an int of ``least`` to ``most``."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, not {value!r}")
    if not least <= value <= most:
        raise InputError(name, f"{least} to {most}", value)


def check_flag(name: str, value: object) -> None:
    """Raise ``TypeError`` unless a parameter is a bool."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be a bool, not {value!r}")
