"""A hint to the processor that a record will be needed soon; it changes no result (``docs/engine.md``)."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array
from numpy.typing import NDArray
from vlane.golden.engine.record_type import RecordsType
from vlane.golden.engine.records import Records

__all__ = ["prefetch"]

_TO_WRITE, _TO_KEEP, _DATA = 1, 3, 1


def prefetch(records: Records[Any] | NDArray[Any], number: int) -> None:
    """Have the line of a record or number loaded, counted through all dimensions; the place need not be one."""


@intrinsic
def _prefetch(_typing: Any, records: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, number_type = signature.args
        if isinstance(kind, RecordsType):
            first = cgutils.create_struct_proxy(kind)(context, builder, arguments[0]).first
            size = kind.record.size  # type: ignore[attr-defined]
        else:
            data = make_array(kind)(context, builder, arguments[0]).data
            first, size = builder.bitcast(data, cgutils.voidptr_t), kind.dtype.bitwidth // 8
        number = context.cast(builder, arguments[1], number_type, types.intp)
        at = builder.gep(first, [builder.mul(number, context.get_constant(types.intp, size))])
        word = ir.IntType(32)
        called = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, word, word, word])
        hint = cgutils.get_or_insert_function(builder.module, called, "llvm.prefetch.p0")
        builder.call(hint, [at, word(_TO_WRITE), word(_TO_KEEP), word(_DATA)])
        return context.get_dummy_value()

    return types.void(records, number), generate


@overload(prefetch, strict=False, jit_options={"forceinline": True})
def _compiled(records: Any, number: Any) -> Any:
    if not isinstance(records, (RecordsType, types.Array)) or not isinstance(number, types.Integer):
        return None
    return lambda records, number: _prefetch(records, number)  # noqa: PLW0108 - an intrinsic is no implementation
