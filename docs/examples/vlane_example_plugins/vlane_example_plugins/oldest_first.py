"""A scheduler that sends the packet that waits longest, with a head start for some requesters."""

from __future__ import annotations

from typing import Any

import vlane


@vlane.scheduler("oldest_first", weights=True, title="Oldest packet first")
class OldestFirst:
    """Weights are head starts in cycles: a packet of weight 100 goes before packets that arrived 99 cycles earlier."""

    @staticmethod
    def choose(active: int, waiting: int, sizes: Any, weights: Any, memory: Any, cycle: int, arrivals: Any) -> int:  # noqa: ARG004 - the contract's
        """Choose the largest sum of wait and head start, the lower requester among equals."""
        best, most = -1, -1
        for requester in range(len(sizes)):
            wait = cycle - arrivals[requester] + weights[requester]
            if (active >> requester) & 1 and wait > most:
                best, most = requester, wait
        return best
