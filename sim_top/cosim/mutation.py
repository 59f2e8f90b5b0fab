"""The mutation check of a block: how many planted faults the lockstep notices."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlane.sim_top.blocks import Block
from vlane.tb.machinery.native.model import CompiledModel
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.synthesis.mutate import SELECT, Mutant, list_mutants, mutant_model, prove_equivalent

_WORKERS = 2
_AT_A_TIME = 4096
"""Cycles after which a mutant that differs ends."""


@dataclass(frozen=True, slots=True)
class MutationRun:
    """What became of the mutants.

    Parameters
    ----------
    parameters : mapping
        Of the instance.
    mutants : int
        How many.
    survivors : tuple of Mutant
        Neither killed nor proven equivalent.
    equivalent : tuple of Mutant
        Not killed, and proven to be no fault.
    seconds : float
        Wall time, compilation included.
    """

    parameters: Mapping[str, Any]
    mutants: int
    survivors: tuple[Mutant, ...]
    equivalent: tuple[Mutant, ...]
    seconds: float

    @property
    def killed(self) -> int:
        """Mutants the lockstep noticed."""
        return self.mutants - len(self.survivors) - len(self.equivalent)

    @property
    def killed_percent(self) -> float:
        """Killed ones of those that are not proven equivalent."""
        real = self.mutants - len(self.equivalent)
        return 100.0 * self.killed / real if real else 100.0


def mutation_run(
    block: Block,
    parameters: Mapping[str, Any],
    *,
    count: int,
    cycles: int,
    seed: int,
    tell: Callable[[str], None] = lambda _: None,
) -> MutationRun:
    """Make mutants, run all of them through the qualification traffic, and prove what survivors it can.

    ``tell`` is called with lines about how far it is.

    Raises
    ------
    RuntimeError
        If the model without a mutant does not agree with golden: then nothing can be said.
    """
    start = time.perf_counter()
    mutants = list_mutants(block.make(parameters), block.name, count=count, seed=seed)
    model = mutant_model(block.make(parameters), block.name, mutants)
    source = block.qualify(parameters, cycles=cycles, seed=seed, inputs=model.inputs, outputs=model.outputs)
    recorded = source.record(model.input_words, model.output_words)  # golden runs once for all mutants
    if _killed(model, recorded, 0):
        raise RuntimeError("select 0 differs from golden: the mutants prove nothing")
    shares = [mutants[worker::_WORKERS] for worker in range(_WORKERS)]
    with ThreadPoolExecutor(_WORKERS) as pool:
        alive = pool.map(lambda share: _survivors(model, recorded, share), shares)
    survivors = sorted((mutant for share in alive for mutant in share), key=lambda mutant: mutant.number)
    tell(f"{len(mutants) - len(survivors)} of {len(mutants)} mutants are killed; the others may be equivalent")
    equivalent = prove_equivalent(block.make(parameters), block.name, survivors, tell)
    return MutationRun(
        parameters,
        len(mutants),
        tuple(mutant for mutant in survivors if mutant not in equivalent),
        tuple(equivalent),
        time.perf_counter() - start,
    )


def _survivors(model: CompiledModel, recorded: tuple[Words, Words], mutants: tuple[Mutant, ...]) -> list[Mutant]:
    with CompiledModel(model.library, model.ports) as own:
        return [mutant for mutant in mutants if not _killed(own, recorded, mutant.number)]


def _killed(model: CompiledModel, recorded: tuple[Words, Words], number: int) -> bool:
    model.restart()
    rows, expected = recorded
    for at in range(0, len(rows), _AT_A_TIME):
        chosen = rows[at : at + _AT_A_TIME].copy()
        model.inputs[SELECT].put(chosen, number)
        try:
            agrees = np.array_equal(model.run(chosen), expected[at : at + _AT_A_TIME])
        except RuntimeError:  # it oscillates: nobody could miss that
            return True
        if not agrees:
            return True
    return False
