"""An own golden behind the ports of a scheduler, for the lockstep."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from vlane.sim_top.dut.goldens import State, StateGolden


@dataclass(frozen=True)
class _Shown:
    """Outputs of one cycle."""

    grant: int
    vl: int

    def ports(self) -> dict[str, int]:
        """Return grant and VL. Any other output of a scheduler is 0."""
        return defaultdict(int, grant=self.grant, vl=self.vl)


class OwnOracle:
    """Golden of the user with the interface of ``vlane.oracle``.

    Parameters
    ----------
    golden : StateGolden
        Golden model.
    """

    def __init__(self, golden: StateGolden) -> None:
        self._golden = golden
        self._state: State = golden.initial

    def step(self, **inputs: Any) -> _Shown:
        """Run one clock cycle: decide, and advance the state if ``ready`` is asserted."""
        decided = self._golden.decide(self._state, inputs["heads__request"] & inputs["heads__fits"])
        if inputs["rst"]:
            self._state = self._golden.initial
        elif inputs["ready"]:
            self._state = decided.after
        return _Shown(int(decided.winner is not None), decided.winner or 0)
