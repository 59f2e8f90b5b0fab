"""Schedule of a foreign design's cycles: input rows, and the cycle in which golden's answer to each is due."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlane.sim_top.dut.stimulus import Traffic
from vlane.sim_top.dut.wiring import RESET, Wiring
from vlane.tb.machinery.native.rows import Words

ROWS = 4096
"""Number of golden's cycles per batch."""
_SETTLE = 4
"""Smallest number of reset cycles after power-on."""
_NO_ROW = -1


@dataclass(frozen=True)
class Batch:
    """Consecutive cycles of the design.

    Parameters
    ----------
    rows : array of uint64
        Inputs of the block.
    dut_rows : array of uint64
        Inputs of the design.
    expected, care : array of uint64
        Expected outputs of the design, and the mask of bits to compare.
    origin : array of int64
        Golden's cycle whose answer is due in each cycle, -1 if none is due.
    counted : int
        Number of golden's cycles that begin in this batch.
    """

    rows: Words
    dut_rows: Words
    expected: Words
    care: Words
    origin: NDArray[np.int64]
    counted: int

    def compared(self, count: int) -> int:
        """Return the number of cycles among the first ``count`` in which some bit is compared."""
        return int(((self.origin[:count] >= 0) & self.care[:count].any(axis=1)).sum())


class _Delay:
    """Queue of answers due in later cycles, kept from batch to batch."""

    def __init__(self, wiring: Wiring) -> None:
        self._latency = wiring.map.lockstep_timing.latency
        words = wiring.dut_outputs.words
        self._expected = np.zeros((self._latency, words), np.uint64)
        self._care = np.zeros((self._latency, words), np.uint64)
        self._origin = np.full(self._latency, _NO_ROW, np.int64)
        self._resets = np.zeros(self._latency, np.int64)

    def through(
        self,
        count: int,
        at: NDArray[np.int64],
        values: tuple[Words, Words, NDArray[np.int64]],
        resets: NDArray[np.int64],
    ) -> tuple[Words, Words, NDArray[np.int64]]:
        """Return the answers due in the next ``count`` cycles.

        ``values`` begin in cycles ``at`` and are due ``latency`` cycles later. A reset in between discards them,
        because it clears the pipeline and may mask outputs. ``resets`` is 1 in each cycle with an active reset.
        """
        later = self._latency
        expected, care = (
            np.concatenate([kept, np.zeros((count, kept.shape[1]), np.uint64)]) for kept in (self._expected, self._care)
        )
        origin = np.concatenate([self._origin, np.full(count, _NO_ROW, np.int64)])
        for whole, value in zip((expected, care, origin), values, strict=True):
            whole[at + later] = value
        history = np.concatenate([self._resets, resets])
        active = np.concatenate([[0], np.cumsum(history)])
        first = np.arange(count)
        cleared = active[first + later + 1] != active[first]
        self._resets = history[count:]
        self._expected, self._care, self._origin = expected[count:], care[count:], origin[count:]
        care[:count][cleared] = 0
        origin[:count][cleared] = _NO_ROW
        return expected[:count], care[:count], origin[:count]


def batches(wiring: Wiring, traffic: Traffic) -> Iterator[Batch]:
    """Yield the cycles of a run: reset, memory initialisation, golden's cycles, and the last answers.

    Raises
    ------
    InputError
        If the traffic needs a port that the design lacks.
    """
    delay, timing = _Delay(wiring), wiring.map.lockstep_timing
    reset = wiring.map.reset
    begins = np.zeros((max(_SETTLE, reset.cycles) if reset else 0, wiring.inputs.words), np.uint64)
    _put_absent(wiring, begins)
    wiring.inputs.layout[RESET].put(begins, 1)
    wiring.check_rows(traffic.before, 0)
    yield from _without_answers(wiring, delay, np.concatenate([begins, traffic.before]))
    rows = np.zeros((ROWS, wiring.inputs.words), np.uint64)
    outputs = np.zeros((ROWS, wiring.outputs.words), np.uint64)
    done, last = 0, rows[:0]
    while count := traffic.stimulus.fill(rows, outputs):
        skipped = min(count, max(0, traffic.unseen - done))
        done, last = done + count, rows[count - 1 : count].copy()
        if count > skipped:
            first = done - count + skipped - traffic.unseen
            yield _batch(wiring, delay, rows[skipped:count], outputs[skipped:count], first)
    quiet = _between(wiring, last)
    wiring.inputs.layout[RESET].put(quiet, 0)
    yield from _without_answers(wiring, delay, np.repeat(quiet, timing.latency, axis=0))


def _put_absent(wiring: Wiring, rows: Words) -> None:
    for name, value in wiring.absent.items():
        wiring.inputs.layout[name].put(rows, value)


def _without_answers(wiring: Wiring, delay: _Delay, rows: Words) -> Iterator[Batch]:
    """Yield cycles in which golden does not run."""
    if len(rows):
        words = wiring.dut_outputs.words
        nothing = np.zeros((0, words), np.uint64)
        nowhere = np.zeros(0, np.int64)
        due = delay.through(len(rows), nowhere, (nothing, nothing, nowhere), _resets(wiring, rows))
        yield Batch(rows, wiring.dut_rows(rows), *due, 0)


def _batch(wiring: Wiring, delay: _Delay, rows: Words, outputs: Words, first: int) -> Batch:
    wiring.check_rows(rows, first)
    expected, care = wiring.expected(rows, outputs)
    spread, at = _spread(wiring, rows)
    numbers = np.arange(first, first + len(rows))
    due = delay.through(len(spread), at, (expected, care, numbers), _resets(wiring, spread))
    return Batch(spread, wiring.dut_rows(spread), *due, len(rows))


def _resets(wiring: Wiring, rows: Words) -> NDArray[np.int64]:
    return wiring.inputs.layout[RESET].get(rows).astype(np.int64)


def _spread(wiring: Wiring, rows: Words) -> tuple[Words, NDArray[np.int64]]:
    """Return the design's cycles for golden's cycles, and the index of the first cycle of each.

    A reset lasts as long as the design needs. With ``every`` above 1, further cycles follow each of golden's. Inputs
    with an effect (``ready``, writes, swaps) are active in the first of them, or in the cycle of the grant if
    ``timing.ready`` is ``grant``.
    """
    timing, reset = wiring.map.lockstep_timing, wiring.map.reset
    resetting = reset.cycles if reset else 1
    if timing.every == 1 and resetting == 1:
        return rows.copy(), np.arange(len(rows))
    resets = _resets(wiring, rows)
    lengths = np.where(resets != 0, resetting, timing.every)
    at = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    whole = np.repeat(rows, lengths, axis=0)
    place = np.arange(len(whole)) - np.repeat(at, lengths)
    acts = place == (timing.latency if timing.ready == "grant" else 0)
    quiet = _between(wiring, whole)
    if timing.between == "idle":
        wiring.inputs.layout["heads__request"].put(quiet, 0)
    return np.where(acts[:, np.newaxis], whole, quiet), at


def _between(wiring: Wiring, rows: Words) -> Words:
    """Return rows without active inputs. Inputs that the design lacks keep their constant value."""
    quiet = rows.copy()
    for name, field in wiring.inputs.layout.items():
        if name in {"ready", "swap"} or name.endswith("__enable"):
            field.put(quiet, wiring.absent.get(name, 0))
    return quiet
