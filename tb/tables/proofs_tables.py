"""Proofs of look-up tables: an arbitrary entry is watched, with a reference model of the contents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Assume, Module, Mux, Signal, Value


def at(values: Sequence[Value] | Value, index: Value) -> Value:
    """Return the value at an index, or 0 past the end."""
    found: Value = Value.cast(0)
    for place, value in enumerate(values):
        found = Mux(index == place, value, found)
    return found


def wrapped(value: Value, size: int) -> Value:
    """Return an index into a ring of ``size`` entries, from a value below twice the size."""
    return Mux(value >= size, value - size, value)


def constant(m: Module, name: str, width: int, least: int, maximum: int) -> Signal:
    """Return a free input of the proof that is constant, with a value in ``least`` to ``maximum``."""
    value, before = Signal(width, name=name), Signal(width, name=f"{name}_before", reset_less=True)
    started = Signal(name=f"{name}_on", reset_less=True)
    m.d.sync += [before.eq(value), started.eq(1)]
    m.d.comb += Assume((value >= least) & (value <= maximum))
    with m.If(started):
        m.d.comb += Assume(value == before)
    return value


def elaborated_module(component: Any) -> Module:
    """Return a component's module, to whose memories read ports can still be added."""
    component._MustUse__used = True  # elaborated here, not by the parent module
    module: Module = component.elaborate(None)
    return module


def written_last(m: Module, name: str, initial: Value, written: Value, value: Value) -> Value:
    """Return the expected contents of an entry: the value written last, initially ``initial``, preserved by reset."""
    has, kept = (
        Signal(name=f"{name}_written", reset_less=True),
        Signal(len(value), name=f"{name}_kept", reset_less=True),
    )
    with m.If(written):
        m.d.sync += [has.eq(1), kept.eq(value)]
    return Mux(has, kept, initial)
