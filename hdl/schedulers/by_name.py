"""The hardware of each scheduler of the registry: ``COMPONENT`` of the module that has its name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["component"]


def component(name: str) -> Any:
    """Return what makes a scheduler: a component class, or the choice between its forms."""
    return import_module(f"vlane.hdl.schedulers.{name}").COMPONENT
