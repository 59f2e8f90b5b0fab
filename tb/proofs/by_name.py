"""The proofs of each scheduler of the registry: the module ``prove_NAME`` beside this one.

Every module has ``properties_of``, which makes what is proven around a component, and ``INSTANCES``, the parameters of
the instances that are proven.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["proofs"]


def proofs(name: str) -> Any:
    """Return the module of a scheduler's proofs."""
    return import_module(f"vlane.tb.proofs.prove_{name}")
