"""The hardware of a block by the block's name: ``COMPONENT`` of ``hdl/FAMILY/NAME.py``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from vlane.families import FAMILY_OF


def component(name: str) -> Any:
    """Return the constructor of a block: its component class, or the function that chooses between its forms."""
    return import_module(f"vlane.hdl.{FAMILY_OF[name]}.{name}").COMPONENT
