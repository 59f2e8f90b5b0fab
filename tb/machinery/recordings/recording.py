"""Recording of a testbench that runs without Python: a reset, the contents of memories, then golden's cycles."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlane.tb.machinery.native.packing import put_writes
from vlane.tb.machinery.native.rows import Field, Port, Words, row_layout, row_words
from vlane.tb.machinery.native.stimulus import Qualify
from vlane.tb.machinery.recordings.power_on import power_on_writes

_RESET_CYCLES = 4
_SETTLE_CYCLES = 4


@dataclass(frozen=True, slots=True)
class Recording:
    """Rows of inputs and of expected outputs.

    Parameters
    ----------
    inputs, outputs : mapping of str to Field
        Position of every port in a row.
    rows : array of uint64, (cycles, input words)
        Inputs, one row per cycle, from the first reset cycle on.
    expected : array of uint64, (cycles - shown, output words)
        Outputs from row ``shown`` on.
    shown : int
        Row from which on the ports in ``early`` are compared.
    first : int
        Row from which on all ports are, golden's first cycle.
    early : tuple of str
        Outputs that golden does not model, those of the bus.
    """

    inputs: dict[str, Field]
    outputs: dict[str, Field]
    rows: Words
    expected: Words
    shown: int
    first: int
    early: tuple[str, ...] = ()


def record(
    block: str, parameters: Mapping[str, Any], ports: Sequence[Port], qualify: Qualify, *, cycles: int, seed: int
) -> Recording:
    """Return the beginning of a block's qualification, after a reset and writes to its memories.

    The memories then need no initial values. No outputs are expected before golden's first cycle.
    """
    inputs, outputs = row_layout(ports, inputs=True), row_layout(ports, inputs=False)
    source = qualify(parameters, cycles=cycles, seed=seed, inputs=inputs, outputs=outputs)
    rows, expected = source.record(row_words(inputs), row_words(outputs))
    before = lead_in(inputs, power_on_writes(block, parameters), seed=seed)
    return Recording(inputs, outputs, np.concatenate([before, rows]), expected, len(before), len(before))


def lead_in(inputs: Mapping[str, Field], writes: Sequence[Mapping[str, int]], *, seed: int) -> Words:
    """Return rows with a reset (other inputs random), then memory writes, then a second reset."""
    reset = np.zeros((_RESET_CYCLES, row_words(dict(inputs))), np.uint64)
    draw = random.Random(f"reset {seed}")  # noqa: S311 - stimulus
    for name, field in inputs.items():
        for row in reset:
            field.put(row, 1 if name == "rst" else draw.getrandbits(field.bits))
    if not writes:
        return reset
    written = np.zeros((len(writes) + _SETTLE_CYCLES + _RESET_CYCLES, reset.shape[1]), np.uint64)
    put_writes(dict(inputs), writes, written[: len(writes)])
    inputs["rst"].put(written[-_RESET_CYCLES:], 1)
    return np.concatenate([reset, written])
