"""A nested state copied onto another of the same type and size, in compiled code too."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from vlane.golden.engine.record_type import RecordsType
from vlane.golden.engine.records import Records

__all__ = ["restore"]


def restore(to: Any, source: Any) -> None:
    """Copy all arrays and records of a nested state onto those of another; its numbers are of the type, and equal."""
    if isinstance(to, np.ndarray):
        to[...] = source
    elif isinstance(to, Records):
        to.array[...] = source.array
    elif isinstance(to, tuple):
        for part, other in zip(to, source, strict=True):
            restore(part, other)


@intrinsic
def _restore(_typing: Any, to: Any, source: Any) -> Any:
    """Copy memory: every array of such a state is contiguous."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def copy(kind: Any, into: Any, out_of: Any) -> None:
            if isinstance(kind, types.Array):
                first, other = (context.make_array(kind)(context, builder, each) for each in (into, out_of))
                size = context.get_constant(types.intp, kind.dtype.bitwidth // 8)
                cgutils.raw_memcpy(builder, first.data, other.data, first.nitems, size)
            elif isinstance(kind, RecordsType):
                first, other = (cgutils.create_struct_proxy(kind)(context, builder, each) for each in (into, out_of))
                count = context.get_constant(types.intp, 1)
                for dimension in range(kind.array.ndim):
                    count = builder.mul(count, getattr(first, f"count_{dimension}"))
                size = context.get_constant(types.intp, kind.record.size)  # type: ignore[attr-defined]
                cgutils.raw_memcpy(builder, first.first, other.first, count, size)
            elif isinstance(kind, types.BaseTuple):
                for place, part in enumerate(kind.types):  # type: ignore[attr-defined]
                    copy(part, *(builder.extract_value(each, place) for each in (into, out_of)))

        copy(signature.args[0], *arguments)
        return context.get_dummy_value()

    return types.void(to, source), generate


@overload(restore, strict=False, jit_options={"forceinline": True})
def _compiled(to: Any, source: Any) -> Any:  # noqa: ARG001 - numba gives it
    return lambda to, source: _restore(to, source)  # noqa: PLW0108 - an intrinsic is no implementation
