"""Find the hardware of a block by name: ``COMPONENT`` of ``hdl/FAMILY/NAME.py``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from vlane.families import FAMILY_OF


def component(name: str) -> Any:
    """Return a block's constructor: the component class, or a function that selects one of several forms."""
    return import_module(f"vlane.hdl.{FAMILY_OF[name]}.{name}").COMPONENT
