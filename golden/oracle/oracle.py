"""What every oracle is made of, whatever its block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vlane.golden.engine.rule import Rule
from vlane.golden.oracle.ports import Port


@dataclass(frozen=True, slots=True)
class Oracle:
    """A block as its oracle: a machine, the kernel that runs a clock cycle of it, and the ports.

    Parameters
    ----------
    machine : NamedTuple
        State after power-on, places of the ports, and counters of rules; nested NamedTuples of arrays, records and
        numbers.
    cycle : callable
        The kernel ``cycle(machine, given, shown)``: it reads the words of inputs, which stay, writes those of outputs,
        and lets the clock rise. Any words are allowed; bits beyond a port's width have no effect.
    inputs, outputs : tuple of Port
        Ports in the order of their words.
    rules : sequence of Rule
        What ``machine.rules`` counts.
    """

    machine: Any
    cycle: Callable[..., None]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    rules: Sequence[Rule]
