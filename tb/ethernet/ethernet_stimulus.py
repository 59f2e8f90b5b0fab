"""Common part of the stimuli of the Ethernet blocks: golden's state, its inputs, and the random source."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from vlane.golden.engine.random_bits import seeded_rng
from vlane.golden.oracle.oracle import Oracle
from vlane.tb.machinery.native.packing import in_rows
from vlane.tb.machinery.native.stimulus import Layout, Stimulus

TARGET, COUNT = range(2)
"""Indices of values kept between cycles: target of the queue (blocks with a queue), and number of decisions."""


class EthernetStimulus(Stimulus):
    """Base of the stimuli of Ethernet blocks: a golden block with random inputs.

    A subclass names golden's module and the block's oracle.

    Parameters
    ----------
    parameters : mapping
        Parameters of the component.
    phases : sequence
        Phases, in the order in which they run.
    seed : int
        Seed of the random choices; equal arguments give equal rows.
    inputs, outputs : mapping
        Position of every port in a row.
    """

    reference: ClassVar[ModuleType]
    oracle: ClassVar[Callable[..., Oracle]]

    def __init__(
        self, parameters: Mapping[str, Any], *, phases: Sequence[Any], seed: int, inputs: Layout, outputs: Layout
    ) -> None:
        super().__init__(phases, self.reference.RULES)
        self._machine = type(self).oracle(parameters, in_rows(inputs, outputs)).machine
        self._link, self._bits = np.zeros(2, np.int64), seeded_rng(seed)
        self.applicable = self.applicable_rules(parameters)

    @staticmethod
    @abstractmethod
    def applicable_rules(parameters: Mapping[str, Any]) -> frozenset[str]:
        """Return the names of the rules that an instance can reach."""

    @property
    def decisions(self) -> int:
        """Number of frames or orders accepted so far."""
        return int(self._link[COUNT])
