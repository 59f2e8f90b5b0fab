"""Exact decimal numbers of a file, without rounding to binary floating point."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from vlane.errors import InputError

_DIGITS = 30


def shown_exact(value: Fraction) -> str:
    """Return a number as decimal text."""
    return str(Decimal(value.numerator) / Decimal(value.denominator))


def _exact(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, Decimal | int):
        return value
    if isinstance(value, int):
        value = Decimal(value) if abs(value) < 10**_DIGITS else Decimal("Infinity")
    if not value.is_finite() or abs(value.adjusted()) > _DIGITS or len(value.as_tuple().digits) > _DIGITS:
        raise InputError("", f"a number of at most {_DIGITS} digits", value)
    return Fraction(value)


Exact = Annotated[Fraction, BeforeValidator(_exact), WithJsonSchema({"type": "number"})]
"""Field type of an exact number in a file parsed with ``parse_float=Decimal``."""
