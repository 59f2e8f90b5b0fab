"""Batches of states: NamedTuples of arrays with an additional leading port axis.

Kernels select one port of a batch without copying: arrays become views of that port, numbers are unchanged.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from vlane.golden.compiler.intrinsics import expand_at_port, intrinsic

State = TypeVar("State")


def batch_of(state: State, ports: int) -> State:
    """Return a batch of ``ports`` copies of one port's state. Numbers are shared by all ports."""
    return _map_arrays(state, lambda array: np.repeat(array[np.newaxis], ports, axis=0))


@intrinsic(expand=expand_at_port)
def at_port(batch: State, port: int) -> State:
    """Return the state of one port of a batch, as views of the batch's arrays."""
    return _map_arrays(batch, lambda array: array[port])


def set_port(batch: Any, port: int, state: Any) -> None:
    """Copy a state of the same type and size to one port of a batch."""
    if isinstance(batch, np.ndarray):
        batch[port] = state
    elif isinstance(batch, tuple):
        for parts, part in zip(batch, state, strict=True):
            set_port(parts, port, part)


def _map_arrays(state: Any, change: Any) -> Any:
    """Return the state with a function applied to each of its arrays."""
    if isinstance(state, np.ndarray):
        return change(state)
    if not isinstance(state, tuple):
        return state
    parts = [_map_arrays(part, change) for part in state]
    return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)
