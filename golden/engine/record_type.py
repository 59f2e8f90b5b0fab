"""numba's type of ``Records``: the address of the first record and the count of records along each dimension.

::

    records[port, vl].field     number = port * counts[1] + vl          _get
                                address = first + number * size         _record: one multiplication, no bounds check
                                value at address + offset of the field  numba's own record type: one load

Places count from 0; negative places do not count from the end. A worked trace is in ``docs/engine.md``.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.core import cgutils, types
from numba.extending import NativeValue, intrinsic, models, overload, overload_attribute, register_model, unbox

__all__ = ["RecordsType"]

_INSIDE: Any = {"strict": False, "jit_options": {"forceinline": True}}


class RecordsType(types.Type):
    """The type of ``Records`` in compiled code.

    Parameters
    ----------
    array : types.Array
        Type of the array that holds the records.
    """

    def __init__(self, array: types.Array) -> None:
        self.array, self.record = array, array.dtype
        super().__init__(f"Records({array.dtype}, {array.ndim})")


@register_model(RecordsType)
class _RecordsModel(models.StructModel):
    def __init__(self, manager: Any, kind: RecordsType) -> None:
        counts = [(f"count_{dimension}", types.intp) for dimension in range(kind.array.ndim)]
        super().__init__(manager, kind, [("first", types.voidptr), *counts])


@unbox(RecordsType)
def _unbox(kind: RecordsType, records: Any, compiler: Any) -> NativeValue:
    # only the address and the counts are kept: the caller's array outlives the call, so nothing is counted
    held = compiler.pyapi.object_getattr_string(records, "array")
    native = compiler.unbox(kind.array, held)
    array = compiler.context.make_array(kind.array)(compiler.context, compiler.builder, native.value)
    found = cgutils.create_struct_proxy(kind)(compiler.context, compiler.builder)
    found.first = compiler.builder.bitcast(array.data, cgutils.voidptr_t)
    for dimension, count in enumerate(cgutils.unpack_tuple(compiler.builder, array.shape)):
        setattr(found, f"count_{dimension}", count)
    compiler.pyapi.decref(held)
    return NativeValue(found._getvalue(), is_error=native.is_error)


@intrinsic
def _record(_typing: Any, records: Any, number: Any) -> Any:
    """Return the record with a number, counted through all dimensions."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, number_type = signature.args
        first = cgutils.create_struct_proxy(kind)(context, builder, arguments[0]).first
        number = context.cast(builder, arguments[1], number_type, types.intp)
        size = context.get_constant(types.intp, kind.record.size)
        # `size` is a constant of the type, so that LLVM makes a shift or one multiplication of it
        at = builder.gep(first, [builder.mul(number, size)])
        return builder.bitcast(at, context.get_value_type(kind.record))

    return records.record(records, number), generate


@intrinsic
def _counts(_typing: Any, records: Any) -> Any:
    """Return the count of records along each dimension."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
        counts = [getattr(found, f"count_{dimension}") for dimension in range(signature.return_type.count)]
        return context.make_tuple(builder, signature.return_type, counts)

    return types.UniTuple(types.intp, records.array.ndim)(records), generate


@overload(operator.getitem, **_INSIDE)
def _get(records: Any, place: Any) -> Any:
    if not isinstance(records, RecordsType):
        return None
    if isinstance(place, types.Integer) and records.array.ndim == 1:
        return lambda records, place: _record(records, place)  # noqa: PLW0108 - an intrinsic is no implementation
    if isinstance(place, types.BaseTuple) and records.array.ndim == len(place) == 2:
        return lambda records, place: _record(records, place[0] * _counts(records)[1] + place[1])
    return None


@overload(len, **_INSIDE)
def _len(records: Any) -> Any:
    return (lambda records: _counts(records)[0]) if isinstance(records, RecordsType) else None


@overload_attribute(RecordsType, "shape", **_INSIDE)
def _shape(records: Any) -> Any:  # noqa: ARG001 - numba gives it
    return lambda records: _counts(records)  # noqa: PLW0108 - as above
