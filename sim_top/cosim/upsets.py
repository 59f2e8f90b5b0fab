"""Upsets of a block: flips a bit of its state during a run and compares its outputs from then on.

After the upset, neither run writes tables or resets. A real table is written once, so a write must not repair the
upset.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from vlane.sim_top.blocks import Block
from vlane.tb.machinery.native.model import CompiledModel
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.synthesis.upsets import FLIP, StateBit, upset_model

WATCHED = 2048
"""Number of cycles compared after an upset."""
QUIET = 512
"""Number of final cycles in which a recovered block agrees."""
LONGEST = 8192
"""Largest length of a trace in cycles. Upsets hit random cycles after the first ``_FIRST``."""
_FIRST = 256
_TRACES, _MOST_BITS, _WORKERS = 8, 1024, 2
_PARTS = (*(slice(begin, begin + 256) for begin in range(0, WATCHED - QUIET, 256)), slice(WATCHED - QUIET, WATCHED))
"""Intervals of cycles; after each, the state is compared with that of the unflipped run."""
_WRITES = re.compile(r"rst|swap|apply|.*__enable")
"""Inputs held at 0 after the upset: table and limit writes, their activation, and reset."""


class Effect(StrEnum):
    """Effect of an upset on the outputs. The other inputs continue unchanged, whatever the block outputs."""

    DETECTED = "detected"
    """The block reported the upset on its output ``upset``."""
    NONE = "no effect"
    """All outputs are unchanged for ``WATCHED`` cycles; an unread bit may still be flipped."""
    RECOVERED = "recovered"
    """Outputs differed temporarily and agree in the last ``QUIET`` cycles."""
    STUCK = "stuck"
    """Outputs are frozen until the end although they should change."""
    DIFFERENT = "different"
    """Outputs still differ at the end, for example because a table or the position in a schedule changed."""


class _Upset(NamedTuple):
    trace: int
    cycle: int
    bit: StateBit


@dataclass(frozen=True, slots=True)
class Upsets:
    """Results of a block's upsets.

    Parameters
    ----------
    parameters : mapping
        Parameters of the instance.
    state_bits, flipped_bits : int
        Number of state bits after optimisation, and of bits flipped at least once.
    effects : mapping of str to Counter
        Number of upsets by effect, for each register.
    """

    parameters: Mapping[str, Any]
    state_bits: int
    flipped_bits: int
    effects: Mapping[str, Counter[Effect]]

    @property
    def total(self) -> Counter[Effect]:
        """Number of upsets by effect, over all registers."""
        return sum(self.effects.values(), Counter())


def upsets(block: Block, parameters: Mapping[str, Any], *, count: int, seed: int) -> Upsets:
    """Flip bits of a block's state, one per run, at random cycles of the qualification traffic.

    Raises
    ------
    RuntimeError
        If the model differs from golden without an upset.
    """
    model, bits, state_bits = upset_model(block.make(parameters), block.name, maximum=_MOST_BITS, seed=seed)
    traces = [_trace(block, parameters, model, seed + number) for number in range(_TRACES)]
    if any(not np.array_equal(_from_start(model, rows), expected) for rows, expected in traces):
        raise RuntimeError("the design differs from golden without an upset: upsets cannot be judged")
    source = random.Random(f"{block.name} {seed}")  # noqa: S311 - no secrets
    drawn = sorted((_drawn(source, traces, bits) for _ in range(count)), key=_moment)
    shares = [drawn[count * worker // _WORKERS : count * (worker + 1) // _WORKERS] for worker in range(_WORKERS)]
    effects: dict[str, Counter[Effect]] = {}
    with ThreadPoolExecutor(_WORKERS) as pool:
        for share, found in zip(shares, pool.map(lambda share: _run(model, traces, share), shares), strict=True):
            for upset, effect in zip(share, found, strict=True):
                effects.setdefault(upset.bit.register, Counter())[effect] += 1
    return Upsets(parameters, state_bits, len({upset.bit for upset in drawn}), effects)


def _trace(block: Block, parameters: Mapping[str, Any], model: CompiledModel, seed: int) -> tuple[Words, Words]:
    """Return rows of inputs and of the resulting outputs, without upsets."""
    source = block.qualify(parameters, cycles=LONGEST, seed=seed, inputs=model.inputs, outputs=model.outputs)
    rows, expected = source.record(model.input_words, model.output_words)
    return rows[:LONGEST], expected[:LONGEST]


def _from_start(model: CompiledModel, rows: Words) -> Words:
    model.restart()
    return model.run(rows)


def _drawn(source: random.Random, traces: Sequence[tuple[Words, Words]], bits: Sequence[StateBit]) -> _Upset:
    trace = source.randrange(len(traces))
    return _Upset(trace, source.randrange(_FIRST, len(traces[trace][0]) - WATCHED), source.choice(bits))


def _moment(upset: _Upset) -> tuple[int, int]:
    return upset.trace, upset.cycle


def _run(model: CompiledModel, traces: Sequence[tuple[Words, Words]], share: Sequence[_Upset]) -> list[Effect]:
    """Return the effects of upsets sorted by time, so that each trace is run only once."""
    effects, at, trace = [], 0, -1
    with CompiledModel(model.library, model.ports) as sound, CompiledModel(model.library, model.ports) as upset:
        for each in share:
            rows = traces[each.trace][0]
            if each.trace != trace:
                sound.restart()
                at, trace = 0, each.trace
            sound.run(rows[at : each.cycle])
            at, state = each.cycle, sound.save()
            upset.restore(state)
            effects.append(_effect(sound, upset, rows[at : at + 1 + WATCHED], each.bit.number))
            sound.restore(state)
    return effects


def _effect(sound: CompiledModel, upset: CompiledModel, rows: Words, bit: int) -> Effect:
    """Flip a bit at the end of the first cycle and return the effect on the outputs after it.

    The runs end early once both devices are in the same state.
    """
    given = rows.copy()
    for name, field in sound.inputs.items():
        if _WRITES.fullmatch(name):
            field.put(given[1:], 0)
    sound.run(given[:1])
    sound.inputs[FLIP].put(given[:1], bit)
    upset.run(given[:1])
    wanted, got = np.zeros((2, WATCHED, sound.output_words), np.uint64)
    for part in _PARTS:
        sound.run(given[1:][part], wanted[part])
        upset.run(given[1:][part], got[part])
        if sound.save() == upset.save():
            break
    if "upset" in upset.outputs and upset.outputs["upset"].get(got).any():
        return Effect.DETECTED
    differs = (got != wanted).any(axis=1)
    if not differs.any():
        return Effect.NONE
    if not differs[-QUIET:].any():
        return Effect.RECOVERED
    stays = (got[-QUIET:] == got[-1]).all()
    return Effect.STUCK if stays and not (wanted[-QUIET:] == wanted[-1]).all() else Effect.DIFFERENT
