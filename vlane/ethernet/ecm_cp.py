"""Congestion point of ECM: parameters and widths (``docs/ecm_cp.md``)."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.errors import InputError
from vlane.ethernet.shared import FEEDBACK_BITS, FEEDBACK_BYTES, PRBS_BITS, SEED, saturation_bytes
from vlane.parameters import Parameters, choice, flag, whole

CHANCE_BITS = 32
"""Fraction bits of the sampling probability per byte."""
SHOWN_CYCLES = 7
"""Cycles from a frame to the outputs that depend on it, except the queue length."""


def sampling_chance(sample_bytes: int) -> int:
    """Return the probability, in units of 2**-32, with which each byte of a frame causes a sample.

    Examples
    --------
    >>> sampling_chance(75000)
    57266
    """
    return ((1 << CHANCE_BITS) + sample_bytes // 2) // sample_bytes


@dataclass(frozen=True, eq=False, kw_only=True)
class ECMCPParameters(Parameters):
    """Parameters of ``ecm_cp``.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    set_point_bytes: int = whole(37_500, 64, 250_000, "Qeq, the target queue length")
    weight: int = whole(2, 0, 8, "W, the weight of the queue's change")
    sample_bytes: int = whole(75_000, 16_384, 1 << 20, "bytes between samples, mean or exact")
    sampling: str = choice("random", ("random", "fixed"), "sampling: random, or after a fixed number of bytes")
    queue_bytes: int = whole(1_500_000, 16_384, (1 << 24) - 1, "largest queue length; the counter saturates")
    bcn_max: bool = flag(default=True, about="most negative feedback above max_bytes")
    max_bytes: int = whole(150_000, 0, (1 << 24) - 1, "threshold of BCN_MAX")
    bcn_stop: bool = flag(default=False, about="BCN(0,0) notifications above stop_bytes")
    stop_bytes: int = whole(300_000, 0, (1 << 24) - 1, "threshold of BCN(0,0)")
    seed: int = whole(SEED, 1, (1 << PRBS_BITS) - 1, "state of the random sequence after reset")

    def check(self) -> None:
        """Reject a set point whose feedback is out of range, and a queue smaller than the set point."""
        most = (1 << FEEDBACK_BITS - 1) * FEEDBACK_BYTES - 1
        if saturation_bytes(self.set_point_bytes, self.weight) > most:
            raise InputError(
                "set_point_bytes", f"at most {most // (2 * self.weight + 1)} with this weight", self.set_point_bytes
            )
        if self.queue_bytes < self.set_point_bytes:
            raise InputError("queue_bytes", f"at least set_point_bytes, {self.set_point_bytes}", self.queue_bytes)
