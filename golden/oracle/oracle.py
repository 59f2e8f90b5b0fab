"""What every oracle is made of, whatever its block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from vlane.golden.engine.rule import Rule
from vlane.golden.oracle.ports import Port

__all__ = ["Oracle"]


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

    def runner(self, machine: Any, given: NDArray[np.uint64], shown: NDArray[np.uint64]) -> Callable[..., None]:
        """Return the kernel for arguments of these types only: finding their types takes far longer than a cycle."""
        dispatcher: Any = self.cycle
        if not hasattr(dispatcher, "overloads"):  # kernels are not compiled
            return self.cycle
        kinds = tuple(map(numba.typeof, (machine, given, shown)))
        dispatcher.compile(kinds)
        run: Callable[..., None] = dispatcher.overloads[kinds].entry_point
        return run
