"""A component's registers, with an optional parity bit for each."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.hdl._ast import Slice


class Stored:
    """Registers of a component, assigned through ``write`` so that a flipped bit is detected.

    A parity bit stores the inverse of its register's parity. A one-bit register therefore differs from its parity bit,
    so synthesis cannot merge the two.

    Parameters
    ----------
    parity : bool
        Whether to add parity bits. Without parity, ``write`` is a plain assignment.

    Attributes
    ----------
    upset : Signal
        A register does not match its parity bit in this cycle. Always 0 without parity.
    """

    def __init__(self, *, parity: bool) -> None:
        self.parity = parity
        self.upset = Signal()
        self._bits: dict[tuple[int, int, int], tuple[Value, Signal]] = {}

    def write(self, m: Module, register: Any, value: Any) -> None:
        """Assign a register, or an element of a register, at the next clock edge.

        Parameters
        ----------
        m : Module
            Module to which the assignment is added, inside an ``If`` or ``Switch`` if one is open.
        register : Signal or element of a View
            Target. Assignments to a Signal must always use the same slices.
        value : value-castable
            New value.
        """
        m.d.sync += register.eq(value)
        if self.parity:
            m.d.sync += self._bit_of(Value.cast(register)).eq(~_fitted(value, len(Value.cast(register))).xor())

    def write_each(self, m: Module, registers: Any, values: Any) -> None:
        """Assign each element of an array whose elements are also assigned individually elsewhere."""
        for index in range(len(registers)):
            self.write(m, registers[index], values[index])

    def check(self, m: Module, *others: Stored) -> None:
        """Drive ``upset``. Call after the last write. ``others`` are the ``Stored`` of the submodules."""
        wrong = [register.xor() ^ ~bit for register, bit in self._bits.values()]
        if self.parity:
            m.d.comb += self.upset.eq(Cat(*wrong, *(other.upset for other in others)).any())

    def show(self, m: Module, component: Any, *others: Stored) -> None:
        """Drive ``upset`` and register it as the component's output ``upset``, one cycle later.

        No output without parity.
        """
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
    """Return the signal of which a register is a slice, and the slice's first bit."""
    start = 0
    while isinstance(register, Slice):
        start, register = start + register.start, register.value
    if not isinstance(register, Signal):
        raise TypeError(f"a parity-protected register must be a Signal or a fixed slice of one, not {register!r}")
    return register, start


def _fitted(value: Any, bits: int) -> Value:
    """Return a value truncated or sign-extended to ``bits``, as an assignment does."""
    value = Value.cast(value)
    if len(value) >= bits or not value.shape().signed:
        return value[:bits]
    return Cat(value, value[-1].replicate(bits - len(value)))
