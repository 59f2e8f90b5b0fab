"""Elastic comparison of a design that a bench drives, one cycle per call."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vlane.sim_top.dut.elastic import Elastic
from vlane.sim_top.dut.findings import Failure, Sample
from vlane.sim_top.dut.ports import PortRow
from vlane.sim_top.dut.signals import Signals
from vlane.sim_top.dut.wiring import Wiring
from vlane.tb.machinery.native.rows import Words

_MOST_KEPT = 100_000


class ElasticFollower:
    """Elastic checker with the interface of ``Follower``.

    Parameters
    ----------
    wiring : Wiring
        Connections, made for the comparison of decisions.
    elastic : Elastic
        Checker.

    Attributes
    ----------
    cycles : int
        Cycles sampled.
    checked : int
        Decisions explained.
    decisions : int
        Decisions.
    resets : int
        Resets.
    difference : Failure or None
        First failure.
    """

    def __init__(self, wiring: Wiring, elastic: Elastic) -> None:
        self._wiring, self._elastic, self._signals = wiring, elastic, Signals(wiring)
        self._kept: dict[tuple[int, int], Sample] = {}
        self._compared = 0
        for name in wiring.map.outputs:
            for port in wiring.map.outputs[name].names:
                place = wiring.dut_outputs.ports[port]
                self._compared |= ((1 << place.bits) - 1) << place.first
        self.difference: Failure | None = None

    @property
    def cycles(self) -> int:
        """Number of cycles sampled."""
        return self._elastic.cycles

    @property
    def checked(self) -> int:
        """Number of decisions that were judged."""
        return self._elastic.decisions

    @property
    def decisions(self) -> int:
        """Number of decisions."""
        return self._elastic.decisions

    @property
    def resets(self) -> int:
        """Number of resets."""
        return self._elastic.resets

    @property
    def rules(self) -> dict[str, int]:
        """Number of occurrences of golden's rules in decisions."""
        return self._elastic.rules()

    def cycle(
        self, inputs: Mapping[str, int], outputs: Mapping[str, int], unknown: Mapping[str, int] | None = None
    ) -> Failure | None:
        """Take the design's port values just before an active clock edge, and return this cycle's failure.

        Parameters
        ----------
        inputs, outputs : mapping
            Values of the design's ports by name.
        unknown : mapping, optional
            Masks of output bits that are neither 0 nor 1.
        """
        wiring = self._wiring
        their, got = _packed(wiring.dut_inputs, inputs), _packed(wiring.dut_outputs, outputs)
        lost = _packed(wiring.dut_outputs, unknown or {})
        sample = self._sample(their, got)
        begun = self._elastic.resets or wiring.map.reset is None
        found = self._elastic.cycle(sample)
        if found is None and lost & self._compared and begun and not sample.reset:
            found = Failure(self._elastic.cycles - 1, "unknown", "the grant has unknown bits")
        self.difference = self.difference or found
        return found

    def _sample(self, their: int, got: int) -> Sample:
        key = their, got
        if key not in self._kept:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            rows = _row(their, self._wiring.dut_inputs), _row(got, self._wiring.dut_outputs)
            self._kept[key] = next(iter(self._signals.samples(*rows)))
        return self._kept[key]


def _packed(row: PortRow, values: Mapping[str, int]) -> int:
    return sum(values.get(name, 0) << port.first for name, port in row.ports.items())


def _row(number: int, row: PortRow) -> Words:
    return np.array([[number >> 64 * word & (1 << 64) - 1 for word in range(row.words)]], np.uint64)
