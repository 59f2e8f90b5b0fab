"""Selection by one-hot vectors instead of indices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Mux, Value


def one_of(chosen: Iterable[Value], values: Iterable[Value]) -> Value:
    """Return the value whose select bit is set, or 0. At most one bit may be set."""
    return reduce(or_, (Mux(bit, Value.cast(value), 0) for bit, value in zip(chosen, values, strict=True)))


def chosen(index: Value, values: Sequence[Value]) -> Value:
    """Return ``values[index]``, or 0 past the end. A single value needs no comparison and has every index."""
    return one_of((equals(index, number) for number in range(len(values))), values) if len(values) > 1 else values[0]


def any_of(bits: Iterable[Value]) -> Value:
    """Return whether any bit is set: 0 without bits."""
    return Cat(*bits, Const(0, 1)).any()


def number_of(chosen: Value) -> Value:
    """Return the index of the set bit, or 0. At most one bit may be set."""
    count = len(chosen)
    digits = range((count - 1).bit_length())
    return Cat(Cat(chosen[bit] for bit in range(count) if bit >> digit & 1).any() for digit in digits)


def bit_of(bits: Value, index: Value) -> Value:
    """Return bit ``index``, or 0 if the index is past the end."""
    return (bits & (1 << index)).any()


def exceeds(value: Value, other: Value) -> Value:
    """Return whether a value exceeds another: the sign of their difference, which synthesis maps to a carry chain."""
    return (other - value)[-1]


def difference(value: Value, other: Value, borrow: Value) -> Value:
    """Return ``value - other - borrow``, signed, from two values of one width. Synthesis maps it to one carry chain."""
    total = Cat(Const(1, 1), value, Const(0, 1)) + Cat(~borrow, ~other, Const(1, 1))
    return total[1 : len(value) + 2].as_signed()


def equals(value: Value, constant: int) -> Value:
    """Return whether a value equals a constant. A comparison with 0 becomes a reduction, as linters expect."""
    return value == constant if constant else ~value.any()
