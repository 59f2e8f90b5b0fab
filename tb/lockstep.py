"""The native lockstep: compiled hardware and golden, the same cycles, every output compared in every cycle.

Golden prepares the next batch on a thread of its own while the hardware runs the last one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from vlane.tb.model import CompiledModel, Words

__all__ = ["BATCH", "Mismatch", "Outcome", "Source", "run_lockstep"]

BATCH = 8192
"""Cycles per call of the hardware."""


class Source(Protocol):
    """Whatever gives rows of inputs and the outputs that must follow."""

    def fill(self, rows: Words, expected: Words) -> int:
        """Fill rows from the start and return how many; 0 at the end."""
        ...


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first cycle in which hardware and golden differ.

    Parameters
    ----------
    cycle : int
        Counted from 0, power-on.
    inputs, golden, hardware : dict of str to int
        Ports by name in that cycle.
    """

    cycle: int
    inputs: dict[str, int]
    golden: dict[str, int]
    hardware: dict[str, int]

    def __str__(self) -> str:
        differ = [name for name, value in self.golden.items() if self.hardware[name] != value]
        said = ", ".join(f"{name}: golden {self.golden[name]}, hardware {self.hardware[name]}" for name in differ)
        given = " ".join(f"{name}={value:#x}" for name, value in self.inputs.items())
        return f"cycle {self.cycle}: {said}; inputs {given}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a lockstep run showed.

    Parameters
    ----------
    cycles : int
        Cycles compared.
    mismatch : Mismatch or None
        The first difference; the run stops there.
    seconds : float
        Wall time of the run, compilation apart.
    """

    cycles: int
    mismatch: Mismatch | None
    seconds: float


def run_lockstep(
    model: CompiledModel, source: Source, observe: Callable[[int, Words, Words], None] | None = None
) -> Outcome:
    """Run a source through the hardware from power-on until it ends or the first difference.

    Parameters
    ----------
    model : CompiledModel
        The hardware; it is restarted.
    source : Source
        Golden and its traffic.
    observe : callable, optional
        Called with (first cycle, inputs, outputs) of every batch that agreed.
    """
    model.restart()
    start = time.perf_counter()
    buffers = [
        (np.zeros((BATCH, model.input_words), np.uint64), np.zeros((BATCH, model.output_words), np.uint64))
        for _ in range(2)
    ]
    got = np.empty((BATCH, model.output_words), np.uint64)
    cycle = 0
    with ThreadPoolExecutor(1) as golden:
        pending = golden.submit(source.fill, *buffers[0])
        for batch in range(1 << 62):
            count = pending.result()
            if count == 0:
                break
            rows, expected = buffers[batch % 2]
            pending = golden.submit(source.fill, *buffers[1 - batch % 2])
            model.run(rows[:count], got[:count])
            if not np.array_equal(got[:count], expected[:count]):
                pending.result()
                at = int(np.flatnonzero((got[:count] != expected[:count]).any(axis=1))[0])
                mismatch = Mismatch(
                    cycle + at,
                    _named(model.inputs, rows[at]),
                    _named(model.outputs, expected[at]),
                    _named(model.outputs, got[at]),
                )
                return Outcome(cycle + at + 1, mismatch, time.perf_counter() - start)
            if observe is not None:
                observe(cycle, rows[:count], got[:count])
            cycle += count
    return Outcome(cycle, None, time.perf_counter() - start)


def _named(columns: dict[str, slice], row: Words) -> dict[str, int]:
    return {name: sum(int(word) << 64 * i for i, word in enumerate(row[where])) for name, where in columns.items()}
