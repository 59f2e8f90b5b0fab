"""The proofs of each scheduler of the registry: the module ``prove_NAME`` beside this one.

Every module has ``INSTANCES``: what is proven, around which components.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["proofs"]


def proofs(name: str) -> Any:
    """Return the module of a scheduler's proofs."""
    return import_module(f"vlane.tb.proofs.prove_{name}")
