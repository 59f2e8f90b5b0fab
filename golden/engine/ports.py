"""Batches of states: NamedTuples of arrays to which a leading port axis is added.

Kernels take one port out of a batch without copying: arrays become views of that port, numbers stay what they are.
"""

from __future__ import annotations

import operator
from typing import Any, TypeVar

import numpy as np
from numba.core import types
from numba.extending import intrinsic, overload

__all__ = ["at_port", "batch_of", "set_port"]

State = TypeVar("State")

_TUPLES: Any = (types.Tuple, types.UniTuple, types.NamedTuple, types.NamedUniTuple)


def batch_of(state: State, ports: int) -> State:
    """Return a batch of that many ports, each a copy of one port's state; numbers are shared by all ports."""
    return _mapped(state, lambda array: np.repeat(array[np.newaxis], ports, axis=0))


def at_port(batch: State, port: int) -> State:
    """Return the state of one port of a batch; its arrays are views."""
    return _mapped(batch, lambda array: array[port])


def set_port(batch: Any, port: int, state: Any) -> None:
    """Copy a state of the same type and size to one port of a batch."""
    if isinstance(batch, np.ndarray):
        batch[port] = state
    elif isinstance(batch, tuple):
        for parts, part in zip(batch, state, strict=True):
            set_port(parts, port, part)


def _mapped(state: Any, change: Any) -> Any:
    """Return the state with a function applied to each of its arrays."""
    if isinstance(state, np.ndarray):
        return change(state)
    if not isinstance(state, tuple):
        return state
    parts = [_mapped(part, change) for part in state]
    return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)


@intrinsic
def _at_port(typing: Any, batch: Any, port: Any) -> Any:
    """Return the state of one port: the tuple is rebuilt, an array is indexed, a number is taken as it is."""

    def getter(array: Any) -> Any:
        return typing.resolve_function_type(operator.getitem, (array, port), {})

    def kind_of(part: Any) -> Any:
        if isinstance(part, types.Array):
            return getter(part).return_type
        if isinstance(part, _TUPLES):
            return types.BaseTuple.from_types(
                [kind_of(each) for each in part.types], getattr(part, "instance_class", None)
            )
        return part

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        def value_of(part: Any, value: Any) -> Any:
            if isinstance(part, types.Array):
                return context.get_function(operator.getitem, getter(part))(builder, (value, arguments[1]))
            if isinstance(part, _TUPLES):
                parts = [value_of(each, builder.extract_value(value, place)) for place, each in enumerate(part.types)]
                return context.make_tuple(builder, kind_of(part), parts)
            return value

        return value_of(batch, arguments[0])

    return kind_of(batch)(batch, port), generate


@overload(at_port, strict=False, jit_options={"forceinline": True})
def _compiled(batch: Any, port: Any) -> Any:  # noqa: ARG001 - numba gives it
    return lambda batch, port: _at_port(batch, port)  # noqa: PLW0108 - an intrinsic is no implementation
