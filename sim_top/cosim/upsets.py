"""Upsets of a block: a bit of its state is flipped in a run, and its outputs are compared from then on.

From the upset on nothing is written into tables and nothing is reset, with the upset and without: a table is written
once in its life, and an upset in it must not be gone because a test writes all the time.
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
"""Cycles for which outputs are compared after an upset."""
QUIET = 512
"""Cycles at the end of these in which a block that has recovered agrees."""
LONGEST = 8192
"""Cycles of a trace, at most: an upset is in a random one after the first ``_FIRST``."""
_FIRST = 256
_TRACES, _MOST_BITS, _WORKERS = 8, 1024, 2
_PARTS = (*(slice(begin, begin + 256) for begin in range(0, WATCHED - QUIET, 256)), slice(WATCHED - QUIET, WATCHED))
"""Cycles after each of which the state is compared with that of the run without the upset."""
_WRITES = re.compile(r"rst|swap|apply|.*__enable")
"""Inputs that are 0 after the upset: writes of tables and limits, what puts them in force, and reset."""


class Effect(StrEnum):
    """What becomes of an upset.

    The other inputs go on as if nothing had happened, whatever the block puts out.
    """

    DETECTED = "detected"
    """The block showed it on its output ``upset``."""
    NONE = "no effect"
    """Every output is as without it, within ``WATCHED`` cycles: a bit that nobody looked at may be flipped still."""
    RECOVERED = "recovered"
    """Outputs differed for a while, and agree in the last ``QUIET`` of these cycles."""
    STUCK = "stuck"
    """Outputs stay as they are to the end, where they should not."""
    DIFFERENT = "different"
    """Outputs still differ at the end: as a table is another one, or as a schedule goes on from another place."""


class _Upset(NamedTuple):
    trace: int
    cycle: int
    bit: StateBit


@dataclass(frozen=True, slots=True)
class Upsets:
    """What became of the upsets of a block.

    Parameters
    ----------
    parameters : mapping
        Of the instance.
    state_bits, flipped_bits : int
        Its bits of state after optimisation, and those that were flipped, each at least once.
    effects : mapping of str to Counter
        Of each register, how many upsets had which effect.
    """

    parameters: Mapping[str, Any]
    state_bits: int
    flipped_bits: int
    effects: Mapping[str, Counter[Effect]]

    @property
    def total(self) -> Counter[Effect]:
        """How many upsets had which effect."""
        return sum(self.effects.values(), Counter())


def upsets(block: Block, parameters: Mapping[str, Any], *, count: int, seed: int) -> Upsets:
    """Flip bits of a block's state, one in a run, at random cycles of the qualification's traffic.

    Raises
    ------
    RuntimeError
        If the model differs from golden without an upset: then nothing can be said.
    """
    model, bits, state_bits = upset_model(block.make(parameters), block.name, most=_MOST_BITS, seed=seed)
    traces = [_trace(block, parameters, model, seed + number) for number in range(_TRACES)]
    if any(not np.array_equal(_from_start(model, rows), expected) for rows, expected in traces):
        raise RuntimeError("without an upset it differs from golden: upsets would tell nothing")
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
    """Return rows of inputs, with nothing flipped, and of the outputs that follow."""
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
    """Return the effects of upsets, which are in the order of their moments: a trace is run once up to the last."""
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
    """Return what a bit that is flipped at the end of the first cycle does to the outputs after it.

    Once both are in the same state they stay equal, and no more cycles are run.
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
