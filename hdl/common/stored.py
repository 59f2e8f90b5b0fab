"""What a component stores, with a parity bit for each register if that is asked for."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.hdl._ast import Slice


class Stored:
    """The registers of a component, assigned through ``write``, so that a flipped bit in them is told.

    A parity bit is the inverse of the parity of what is written. So a register of one bit differs from its parity
    bit, and no synthesis makes one of both.

    Parameters
    ----------
    parity : bool
        Whether there are parity bits. Without them ``write`` is an assignment and nothing else.

    Attributes
    ----------
    upset : Signal
        In this cycle something that is stored does not fit its parity bit. 0 without parity.
    """

    def __init__(self, *, parity: bool) -> None:
        self.parity = parity
        self.upset = Signal()
        self._bits: dict[tuple[int, int, int], tuple[Value, Signal]] = {}

    def write(self, m: Module, register: Any, value: Any) -> None:
        """Assign a register, or an element of one, at the end of this cycle, where ``m`` is.

        Parameters
        ----------
        m : Module
            The component, which may be within an ``If`` or ``Switch``.
        register : Signal or element of a View
            Always the same elements of a Signal: those that are written at once.
        value : value-castable
            What it becomes.
        """
        m.d.sync += register.eq(value)
        if self.parity:
            m.d.sync += self._bit_of(Value.cast(register)).eq(~_fitted(value, len(Value.cast(register))).xor())

    def write_each(self, m: Module, registers: Any, values: Any) -> None:
        """Assign each element of an array that is written by element elsewhere."""
        for index in range(len(registers)):
            self.write(m, registers[index], values[index])

    def check(self, m: Module, *others: Stored) -> None:
        """Drive ``upset``, once everything is written somewhere; ``others`` are those of the component's parts."""
        wrong = [register.xor() ^ ~bit for register, bit in self._bits.values()]
        if self.parity:
            m.d.comb += self.upset.eq(Cat(*wrong, *(other.upset for other in others)).any())

    def show(self, m: Module, component: Any, *others: Stored) -> None:
        """Check, and tell of it at the component's output ``upset`` in the next cycle; there is none without parity."""
        self.check(m, *others)
        if self.parity:
            m.d.sync += component.upset.eq(self.upset)

    def _bit_of(self, register: Value) -> Signal:
        signal, start = _place(register)
        place = (id(signal), start, len(register))
        if place not in self._bits:
            init = signal.init >> start & (1 << len(register)) - 1
            bit = Signal(
                name=f"parity_{signal.name}_{start}", init=1 ^ init.bit_count() & 1, reset_less=signal.reset_less
            )
            self._bits[place] = register, bit
        return self._bits[place][1]


def _place(register: Value) -> tuple[Signal, int]:
    """Return the signal that a register is a part of, and its first bit there."""
    start = 0
    while isinstance(register, Slice):
        start, register = start + register.start, register.value
    if not isinstance(register, Signal):
        raise TypeError(f"a register must be a Signal or a fixed part of one, not {register!r}")
    return register, start


def _fitted(value: Any, bits: int) -> Value:
    """Return the bits that an assignment to so many bits takes."""
    value = Value.cast(value)
    if len(value) >= bits or not value.shape().signed:
        return value[:bits]
    return Cat(value, value[-1].replicate(bits - len(value)))
