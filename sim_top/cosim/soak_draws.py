"""Random parameters of a block, from their declarations alone: within their bounds, and accepted together."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from typing import Any

from vlane.errors import InputError
from vlane.parameters import Parameters

_MOST_DRAWS = 300
"""Sets of values that are drawn before a draw is given up."""
_MOST_REPAIRS = 60
"""Refused values of a set that are drawn again, one after the other."""
_WORD_BITS = 64


def values_of(shape: type[Parameters]) -> dict[str, tuple[Any, ...]]:
    """Return the values that each choice and each flag of a block can have, by parameter."""
    values: dict[str, tuple[Any, ...]] = {}
    for each in dataclasses.fields(shape):  # type: ignore[arg-type]  # every subclass is a dataclass
        if "words" in each.metadata:
            values[each.name] = each.metadata["words"]
        elif isinstance(each.default, bool):
            values[each.name] = (False, True)
    return values


def draw_parameters(source: random.Random, shape: type[Parameters], wanted: Mapping[str, Any]) -> Parameters | None:
    """Return random parameters that have the wanted values, or ``None`` if no set of them was accepted.

    A whole number is small in most sets: each power of two up to its bound is about as likely as the next one.
    """
    for _ in range(_MOST_DRAWS):
        given = {name: _draw(source, shape, name, {}) for name in shape.defaults()} | dict(wanted)
        for _ in range(_MOST_REPAIRS):
            try:
                return shape(**given)
            except InputError as refused:
                if refused.field in wanted or refused.field not in given:
                    break
                given[refused.field] = _draw(source, shape, refused.field, given)
    return None


def _draw(source: random.Random, shape: type[Parameters], name: str, others: Mapping[str, Any]) -> Any:
    """Return a value of a parameter. A refused number may have to equal one of ``others``."""
    values = values_of(shape)
    if name in values:
        return source.choice(values[name])
    least, most = shape.bounds_of(name)
    span = min(most, least + (1 << source.randint(0, (most - least).bit_length())) - 1)
    drawn = [least, span, source.randint(least, span), 1 << source.randint(0, most.bit_length())]
    if least and least % _WORD_BITS == 0:  # a width in whole words
        drawn.append(_WORD_BITS * source.randint(least // _WORD_BITS, most // _WORD_BITS))
    drawn += [each for each in others.values() if type(each) is int]
    found: int = source.choice([each for each in drawn if least <= each <= most])
    return found
