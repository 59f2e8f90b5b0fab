"""A scheduler that prefers large packets, but lets nobody wait for more than ``weight`` packets of others."""

from __future__ import annotations

from typing import Any

import vlane


@vlane.scheduler("longest_first", weights=True, memory=32, title="Longest packet first")
class LongestFirst:
    """``memory`` counts for each requester the packets of others that went before its own."""

    @staticmethod
    def choose(active: int, waiting: int, sizes: Any, weights: Any, memory: Any) -> int:  # noqa: ARG004 - the contract's
        """Choose a VL that has waited too long, otherwise the largest packet. Ties go to the lower number."""
        best, most = -1, -1
        for requester in range(len(sizes)):
            if (active >> requester) & 1:
                waits_too_long = weights[requester] > 0 and memory[requester] >= weights[requester]
                value = 1000 + memory[requester] if waits_too_long else sizes[requester]
                if value > most:
                    best, most = requester, value
        return best

    @staticmethod
    def sent(chosen: int, sizes: Any, weights: Any, memory: Any) -> None:  # noqa: ARG004 - the contract's
        """Count for every requester that had a packet and was not chosen."""
        for requester in range(len(sizes)):
            if sizes[requester] > 0:
                memory[requester] += 1
        memory[chosen] = 0
