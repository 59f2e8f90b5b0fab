"""Random traffic for tests that compare the golden network with the plain one."""

from __future__ import annotations

import random
from collections.abc import Sequence

from vlane.golden.plain.link import Packet
from vlane.golden.topologies.routing import ChannelRoutes, Routes


def random_trace(
    hosts: int, sls: Sequence[int], source: random.Random, load: float, cycles: int, most: int = 512
) -> list[tuple[int, ...]]:
    """Return a random trace of (cycle, source host, destination host, SL, bytes).

    ``load`` is the approximate number of 64-byte flits per cycle and host.
    """
    packets = int(load * hosts * cycles / (most / 114))
    return [
        (
            source.randrange(cycles),
            source.randrange(hosts),
            source.randrange(hosts) if source.random() < 0.8 else 0,
            source.choice(sls),
            source.choice((1, 64, source.randrange(1, most + 1), most)),
        )
        for _ in range(packets)
    ]


def packets_of(trace: list[tuple[int, ...]], routes: Routes | ChannelRoutes, flit_bytes: int) -> list[Packet]:
    """Return the packets of a trace, with an application queue for each SL."""
    queue = {sl: number for number, sl in enumerate(sorted({row[3] for row in trace}))}
    return [
        Packet(host, to, int(routes.lids[to, 0]), sl, -(-size // 64), -(-size // flit_bytes), born, queue[sl])
        for born, host, to, sl, size in sorted(trace, key=lambda row: (row[1], row[0]))
    ]
