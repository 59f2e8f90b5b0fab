"""Counters that nobody reads: the compiler leaves out what counts them (``docs/engine.md``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array
from numpy.typing import NDArray

__all__ = ["unread"]


def unread(count: int) -> tuple[NDArray[np.int64]]:
    """Return counters that are gone with the call of a kernel in which they are counted; they begin anywhere.

    They are the one part of a tuple, as numba lets no function return an array that it was not given.
    """
    return (np.zeros(count, np.int64),)


@intrinsic
def _on_stack(_typing: Any, count: Any) -> Any:
    """Return an array of a constant size whose memory is the caller's own: what is never read is never written."""

    def generate(context: Any, builder: Any, signature: Any, _: Any) -> Any:
        kind = signature.return_type
        of_array = kind.types[0]
        size, word = context.get_constant(types.intp, count.literal_value), context.get_constant(types.intp, 8)
        memory = cgutils.alloca_once(builder, context.get_value_type(types.int64), size=count.literal_value)
        array = make_array(of_array)(context, builder)
        populate_array(array, data=memory, shape=(size,), strides=(word,), itemsize=word, meminfo=None)
        return context.make_tuple(builder, kind, [array._getvalue()])

    if not isinstance(count, types.IntegerLiteral):
        return None
    return types.Tuple([types.Array(types.int64, 1, "C")])(count), generate


@overload(unread, strict=False, jit_options={"forceinline": True}, prefer_literal=True)
def _unread(count: Any) -> Any:
    if not isinstance(count, types.IntegerLiteral):
        return None
    return lambda count: _on_stack(count)  # noqa: PLW0108 - an intrinsic is no implementation
