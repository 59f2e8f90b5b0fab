"""A source of reads: bursts of packets to one random server, each host after a geometric pause."""

from __future__ import annotations

from typing import Any

import vlane

_FLIT_BYTES, _LOAD_UNIT = 64, 1_000_000


@vlane.source("read_ahead", largest_bytes=2112, memory=2)
class ReadAhead:
    """Values: packets of a burst, bytes of a packet. ``memory`` holds the packets left in the burst and its server."""

    @staticmethod
    def draw(
        host: int,
        hosts: int,
        cycle: int,  # noqa: ARG004 - the contract's
        load: int,
        values: Any,
        random: Any,
        memory: Any,
    ) -> tuple[int, int, int]:
        """Return gap, destination and bytes. Bursts begin at random times such that the mean load is the class's."""
        packets, size = max(1, values[0]), max(64, values[1])
        gap = 0
        if memory[0] == 0:
            flits = packets * ((size - 1) // _FLIT_BYTES + 1)
            gap = vlane.draw_gap(random, load, _LOAD_UNIT * flits)
            server = vlane.draw_below(random, hosts - 1)
            memory[0], memory[1] = packets, server + (server >= host)
        memory[0] -= 1
        return gap, memory[1], size
