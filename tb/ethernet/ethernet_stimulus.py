"""What the stimuli of the Ethernet blocks have in common: golden's state, its inputs, and what they are drawn from."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from vlane.golden.engine.random_bits import seeded
from vlane.tb.machinery.native.packing import places
from vlane.tb.machinery.native.stimulus import Layout, Stimulus

TARGET, COUNT = range(2)
"""What is kept between cycles: the level that traffic aims at, of blocks with a queue, and decisions so far."""


class EthernetStimulus(Stimulus):
    """Golden of a block at its traffic.

    A subclass names the module of golden, the block's inputs in the order of golden's values, and its outputs.

    Parameters
    ----------
    parameters : mapping
        Of the component.
    phases : sequence
        Run in order.
    seed : int
        Two stimuli with equal arguments give equal rows.
    inputs, outputs : mapping
        Where every port is in its row.
    """

    reference: ClassVar[ModuleType]
    value_names: ClassVar[tuple[str, ...]]
    output_names: ClassVar[tuple[str, ...]]

    def __init__(
        self, parameters: Mapping[str, Any], *, phases: Sequence[Any], seed: int, inputs: Layout, outputs: Layout
    ) -> None:
        super().__init__(phases, self.reference.RULES)
        self._ins, self._outs = places(inputs, ["rst", *self.value_names]), places(outputs, self.output_names)
        self._state, self._values = self.reference.new_state(**parameters), self.reference.new_inputs()
        self._link, self._bits = np.zeros(2, np.int64), seeded(seed)
        self.applicable = self.applicable_rules(parameters)

    @staticmethod
    @abstractmethod
    def applicable_rules(parameters: Mapping[str, Any]) -> frozenset[str]:
        """Return the rules that an instance can show."""

    @property
    def decisions(self) -> int:
        """Frames or orders that were taken so far."""
        return int(self._link[COUNT])
