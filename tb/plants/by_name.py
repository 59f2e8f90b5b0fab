"""The planted bugs of each block: the module ``plants_NOUN`` beside this one, with ``PLANTS``."""

from __future__ import annotations

from importlib import import_module

from vlane.tb.plants.plant import Plant

__all__ = ["plants"]


def plants(name: str) -> tuple[Plant, ...]:
    """Return the planted bugs of a block."""
    found: tuple[Plant, ...] = import_module(f"vlane.tb.plants.plants_{name}").PLANTS
    return found
