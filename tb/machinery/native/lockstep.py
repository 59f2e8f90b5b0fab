"""Native lockstep: compiled hardware and golden run the same cycles, and every output is compared in every cycle.

A separate thread computes golden's next batch while the hardware runs the current one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Protocol, Self

import numpy as np

from vlane.tb.machinery.native.model import CompiledModel
from vlane.tb.machinery.native.rows import Field, Words

BATCH = 1 << 14
"""Most cycles per call of the hardware; a thread switch costs as much as hundreds of cycles of an arbiter."""

_LEAST_BATCH = 1 << 12
_BUFFER_BYTES = 1 << 20
"""Size of a batch's rows, in bytes, above which batches are shorter: rows pass through the caches of two cores."""

_BUFFERS = 4
_NOTHING = (np.zeros((0, 0), np.uint64), np.zeros((0, 0), np.uint64))


class Source(Protocol):
    """Interface of a stimulus: rows of inputs, and the outputs that the hardware must show."""

    def fill(self, rows: Words, expected: Words) -> int:
        """Fill rows from the start and return the number filled, or 0 at the end."""
        ...


@dataclass(frozen=True, slots=True)
class Mismatch:
    """First cycle in which hardware and golden differ.

    Parameters
    ----------
    cycle : int
        Number of the cycle, from 0 at power-on.
    inputs, golden, hardware : dict of str to int
        Values of the ports in that cycle, by name.
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
    """Result of a lockstep run.

    Parameters
    ----------
    cycles : int
        Number of cycles compared.
    mismatch : Mismatch or None
        First difference, at which the run stops; ``None`` if there is none.
    seconds : float
        Wall time of the run, without compilation, in seconds.
    """

    cycles: int
    mismatch: Mismatch | None
    seconds: float


def run_lockstep(
    model: CompiledModel, source: Source, observe: Callable[[int, Words, Words], None] | None = None
) -> Outcome:
    """Run a source through the hardware from power-on until it ends or a difference occurs.

    Parameters
    ----------
    model : CompiledModel
        Compiled hardware; it is restarted.
    source : Source
        Golden with its traffic.
    observe : callable, optional
        Called with (first cycle, inputs, outputs) of every batch that agreed.
    """
    model.restart()
    got = np.empty((_batch_of(model), model.output_words), np.uint64)
    start = time.perf_counter()
    cycle = 0
    with ThreadPoolExecutor(1) as golden, _Prepared(source, model, golden) as batches:
        for rows, expected in batches:
            outputs = model.run(rows, got[: len(rows)])
            if not np.array_equal(outputs, expected):
                at = int(np.flatnonzero((outputs != expected).any(axis=1))[0])
                mismatch = Mismatch(
                    cycle + at,
                    _named(model.inputs, rows[at]),
                    _named(model.outputs, expected[at]),
                    _named(model.outputs, outputs[at]),
                )
                return Outcome(cycle + at + 1, mismatch, time.perf_counter() - start)
            if observe is not None:
                observe(cycle, rows, outputs)
            cycle += len(rows)
    return Outcome(cycle, None, time.perf_counter() - start)


def _batch_of(model: CompiledModel) -> int:
    """Return the cycles per batch of a model."""
    words = model.input_words + model.output_words
    return max(_LEAST_BATCH, min(BATCH, _BUFFER_BYTES // (8 * words)))


class _Prepared:
    """Batches of a source, prepared ahead by another thread in a ring of buffers."""

    def __init__(self, source: Source, model: CompiledModel, pool: ThreadPoolExecutor) -> None:
        self._source = source
        self._free: SimpleQueue[tuple[Words, Words] | None] = SimpleQueue()
        self._filled: SimpleQueue[tuple[Words, Words, int]] = SimpleQueue()
        batch = _batch_of(model)
        for _ in range(_BUFFERS):
            rows = np.zeros((batch, model.input_words), np.uint64)
            self._free.put((rows, np.zeros((batch, model.output_words), np.uint64)))
        self._done = pool.submit(self._fill)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._free.put(None)
        self._done.result()

    def _fill(self) -> None:
        count = 1
        try:
            while count and (buffer := self._free.get()) is not None:
                rows, expected = buffer
                filled = 0
                while filled < len(rows) and (count := self._source.fill(rows[filled:], expected[filled:])):
                    filled += count  # a source may end a batch early, but each thread switch costs time
                if filled:
                    self._filled.put((rows, expected, filled))
                if not count:
                    self._filled.put((*_NOTHING, 0))
        except BaseException:
            self._filled.put((*_NOTHING, 0))
            raise

    def __iter__(self) -> Iterator[tuple[Words, Words]]:
        """Yield (inputs, expected outputs). A batch is valid until the next one is requested."""
        while True:
            rows, expected, count = self._filled.get()
            if not count:
                return
            yield rows[:count], expected[:count]
            self._free.put((rows, expected))


def _named(layout: dict[str, Field], row: Words) -> dict[str, int]:
    return {name: field.value(row) for name, field in layout.items()}
