"""Mutation testing of a block: the share of planted faults that the lockstep detects."""

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
"""Number of cycles run between comparisons of a mutant."""


@dataclass(frozen=True, slots=True)
class MutationRun:
    """Result of mutation testing.

    Parameters
    ----------
    parameters : mapping
        Parameters of the instance.
    mutants : int
        Number of mutants.
    survivors : tuple of Mutant
        Mutants neither killed nor proven equivalent.
    equivalent : tuple of Mutant
        Mutants not killed and proven equivalent.
    seconds : float
        Wall time with compilation.
    """

    parameters: Mapping[str, Any]
    mutants: int
    survivors: tuple[Mutant, ...]
    equivalent: tuple[Mutant, ...]
    seconds: float

    @property
    def killed(self) -> int:
        """Number of mutants that the lockstep detected."""
        return self.mutants - len(self.survivors) - len(self.equivalent)

    @property
    def killed_percent(self) -> float:
        """Percentage of killed mutants, not counting those proven equivalent."""
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
    """Run mutants through the qualification traffic and try to prove survivors equivalent.

    ``tell`` receives progress lines.

    Raises
    ------
    RuntimeError
        If the model without a mutant differs from golden.
    """
    start = time.perf_counter()
    mutants = list_mutants(block.make(parameters), block.name, count=count, seed=seed)
    model = mutant_model(block.make(parameters), block.name, mutants)
    source = block.qualify(parameters, cycles=cycles, seed=seed, inputs=model.inputs, outputs=model.outputs)
    recorded = source.record(model.input_words, model.output_words)  # golden runs once for all mutants
    if _killed(model, recorded, 0):
        raise RuntimeError("the unmutated design differs from golden: mutation testing is impossible")
    shares = [mutants[worker::_WORKERS] for worker in range(_WORKERS)]
    with ThreadPoolExecutor(_WORKERS) as pool:
        alive = pool.map(lambda share: _survivors(model, recorded, share), shares)
    survivors = sorted((mutant for share in alive for mutant in share), key=lambda mutant: mutant.number)
    tell(f"{len(mutants) - len(survivors)} of {len(mutants)} mutants are killed; checking the others for equivalence")
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
        except RuntimeError:  # it oscillates, which any bench detects
            return True
        if not agrees:
            return True
    return False
