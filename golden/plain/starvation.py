"""Credit starvation in a plain switch: IBS-K1 to IBS-K6 of ``docs/ib_switch.md``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from vlane.golden.plain.link import Egress, Flit, round_robin
from vlane.golden.plain.network import Input


@dataclass(frozen=True)
class CreditReturn:
    """Settings of credit starvation: CS_Threshold, and shift and multiplier of CS_ReturnDelay."""

    threshold: int = 0
    shift: int = 0
    multiplier: int = 0


class StarvationWrite(NamedTuple):
    """A write of a switch's credit-starvation settings in a cycle.

    ``mask`` lists the ports of Credit_Mask, ``of_switch`` holds the switch settings, ``element`` is a port and its
    element (None: the switch settings apply again). Fields that are None are not written.
    """

    cycle: int
    switch: int
    mask: Collection[int] | None = None
    of_switch: CreditReturn | None = None
    element: tuple[int, CreditReturn | None] | None = None


class StarvingInput:
    """Credits held back by a switch input.

    The object is inserted between the input and the sending side of its port.
    """

    def __init__(self, source: Input, egress: Egress, speed: int) -> None:
        self.source, self.egress, self.speed = source, egress, speed
        lanes = egress.sizes.lanes
        self.is_in_mask = False
        self.of_switch = CreditReturn()
        self.element: CreditReturn | None = None
        self.held = [0] * lanes
        self.may_from = [0] * lanes
        self.last_lane = lanes - 1
        self.waited_before = [0] * lanes
        self.withheld = 0

    @property
    def sizes(self) -> object:
        """Buffer sizes."""
        return self.egress.sizes

    def give_back(self, now: int, lane: int, flit: Flit) -> None:  # noqa: ARG002 - as an egress
        """Hold the credits of a freed flit (IBS-K2)."""
        self.held[lane] += self.egress.sizes.freed_by(flit)

    def is_over(self, lane: int) -> bool:
        """Return whether the blocks that waited on a VL in the previous cycle exceed the threshold (IBS-K1)."""
        rule = self.of_switch if self.element is None else self.element
        if not self.is_in_mask or rule.threshold == 0:
            return False
        return self.waited_before[lane] >= max(1, self.egress.sizes.maximum[lane] * (16 - rule.threshold) // 16)

    def wait(self, now: int) -> list[int]:
        """Return the blocks that wait in a cycle, by VL."""
        return [sum(packet.blocks for since, packet in heads if since <= now) for heads in self.source.heads]

    def settle(self, now: int, before: list[int]) -> None:
        """Return the credits due in a cycle, after all its flits have moved (IBS-K3 to IBS-K5).

        ``before`` is the number of held blocks at the start of the cycle, by VL.
        """
        came = [held - was for held, was in zip(self.held, before, strict=True)]
        rule = self.of_switch if self.element is None else self.element
        for lane in round_robin(self.last_lane, len(self.held)):
            over = self.is_over(lane)
            if not self.held[lane] or (over and now < self.may_from[lane]):
                continue
            blocks = 1 if over else min(self.held[lane], self.speed)
            if over:
                self.may_from[lane] = now + 1 + (rule.multiplier >> rule.shift)
            self.held[lane] -= blocks
            self.egress.give_back_blocks(now, lane, blocks)
            self.last_lane = lane
            break
        self.withheld += sum(min(held, new) for held, new in zip(self.held, came, strict=True))
