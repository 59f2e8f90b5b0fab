"""C++ expressions with their types."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vlane.golden.compiler.types import BOOL, INT, UINT, Type

(TERNARY, OR, AND, BIT_OR, BIT_XOR, BIT_AND, EQUAL, COMPARE, ADD, MULTIPLY, UNARY, PRIMARY) = range(12)
"""Precedence levels of C++ operators; an operand with a lower level than its operator needs parentheses."""

_INT32 = 1 << 31
_INT64 = 1 << 63


@dataclass(frozen=True, slots=True)
class Value:
    """An expression.

    Parameters
    ----------
    type : Type
        Type of the expression.
    text : str
        C++ code.
    precedence : int
        Precedence level of the outermost operator.
    number : int or bool, optional
        Value of a constant.
    has_effects : bool
        Evaluation changes memory or may raise an error, so its order matters.
    reads : bool
        Evaluation reads memory that another expression may change.
    is_narrow : bool
        C++ would compute with fewer than 64 bits.
    pointer : bool
        A record is given by its address.
    name : bool
        The code is a variable or a part of one, so it may be repeated and referenced.
    """

    type: Type
    text: str
    precedence: int = PRIMARY
    number: int | None = None
    has_effects: bool = False
    reads: bool = False
    is_narrow: bool = False
    pointer: bool = False
    name: bool = False

    def within(self, level: int) -> str:
        """Return the code as an operand of an operator with the given precedence level."""
        return self.text if self.precedence >= level else f"({self.text})"

    @property
    def wide(self) -> Value:
        """The number with 64 bits."""
        if self.is_narrow or self.type is BOOL:
            return replace(
                self,
                type=self.type if self.is_narrow else INT,
                text=f"int64_t({self.text})",
                precedence=PRIMARY,
                is_narrow=False,
                name=False,
            )
        return self

    @property
    def truth(self) -> Value:
        """The truth of a number."""
        if self.type is BOOL:
            return self
        return replace(
            self,
            type=BOOL,
            text=f"{self.within(EQUAL)} != 0",
            precedence=EQUAL,
            number=None,
            is_narrow=False,
            name=False,
        )

    @property
    def reference(self) -> str:
        """The code of a record as a reference."""
        return f"*{self.within(UNARY)}" if self.pointer else self.text

    @property
    def address(self) -> str:
        """The code of a record's address."""
        return self.text if self.pointer else f"&{self.within(UNARY)}"

    def member(self, name: str) -> str:
        """Return the code of a member."""
        return f"{self.within(PRIMARY)}{'->' if self.pointer else '.'}{name}"

    @property
    def is_number(self) -> bool:
        """Whether the value is an integer or a truth value."""
        return self.type in {INT, UINT, BOOL}


def literal(number: int, kind: Type | None = None) -> Value:
    """Return a constant. A Python integer beyond 64 bits keeps its lowest 64 bits."""
    if kind is None:
        kind = BOOL if isinstance(number, bool) else INT
    if kind is BOOL:
        return Value(BOOL, "true" if number else "false", number=bool(number))
    if kind is UINT:
        kept = int(number) & (2 * _INT64 - 1)
        return Value(UINT, f"uint64_t({kept}u)" if kept < _INT32 else f"{kept:#x}ull", number=kept)
    kept = (int(number) + _INT64) % (2 * _INT64) - _INT64
    if kept == -_INT64:
        return Value(INT, "INT64_MIN", number=kept)
    if -_INT32 < kept < _INT32:
        return Value(INT, str(kept), precedence=UNARY if kept < 0 else PRIMARY, number=kept)
    return Value(INT, f"int64_t({kept})", number=kept)
