"""Proofs of look-up tables: one arbitrary place is observed, and its contents are recorded beside the component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Assume, Module, Mux, Signal, Value


def at(values: Sequence[Value] | Value, index: Value) -> Value:
    """Return the value at an index; 0 past the end."""
    found: Value = Value.cast(0)
    for place, value in enumerate(values):
        found = Mux(index == place, value, found)
    return found


def wrapped(value: Value, size: int) -> Value:
    """Return a place of a ring of that size, of a value below twice the size."""
    return Mux(value >= size, value - size, value)


def constant(m: Module, name: str, width: int, least: int, most: int) -> Signal:
    """Return a free input of the proof that holds its first value, which is in ``least`` to ``most``."""
    value, before = Signal(width, name=name), Signal(width, name=f"{name}_before", reset_less=True)
    started = Signal(name=f"{name}_on", reset_less=True)
    m.d.sync += [before.eq(value), started.eq(1)]
    m.d.comb += Assume((value >= least) & (value <= most))
    with m.If(started):
        m.d.comb += Assume(value == before)
    return value


def opened(component: Any) -> Module:
    """Return a component's module, to whose memories ports can still be added."""
    component._MustUse__used = True  # elaborated here, not by the module that it is put into
    module: Module = component.elaborate(None)
    return module


def remembered(m: Module, name: str, initial: Value, written: Value, value: Value) -> Value:
    """Return the expected contents of a place: the value written last, ``initial`` before that; a reset keeps it."""
    has, kept = (
        Signal(name=f"{name}_written", reset_less=True),
        Signal(len(value), name=f"{name}_kept", reset_less=True),
    )
    with m.If(written):
        m.d.sync += [has.eq(1), kept.eq(value)]
    return Mux(has, kept, initial)
