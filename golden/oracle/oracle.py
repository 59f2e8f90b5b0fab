"""Common structure of all oracles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vlane.golden.engine.rule import Rule
from vlane.golden.oracle.ports import Port


@dataclass(frozen=True, slots=True)
class Oracle:
    """Oracle of a block.

    Parameters
    ----------
    machine : NamedTuple
        State after power-on, bit positions of the ports, and rule counters; nested NamedTuples of arrays, records and
        numbers.
    cycle : callable
        Kernel ``cycle(machine, given, shown)``. It reads the input words, writes the output words and advances the
        clock. Any input words are valid; bits beyond a port's width are ignored.
    inputs, outputs : tuple of Port
        Ports in the order of their words.
    rules : sequence of Rule
        Rules counted in ``machine.rules``.
    """

    machine: Any
    cycle: Callable[..., None]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    rules: Sequence[Rule]
