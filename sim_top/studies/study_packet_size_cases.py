"""Cases of the packet-size study: networks, four packet sizes, connections of ten service levels."""

from __future__ import annotations

from functools import cache
from math import ceil
from typing import Any

from vlane.schedulers.registry import IB_ARBITER
from vlane.sim_top.studies.packet_size_requests import (
    BUDGET,
    DISTANCES,
    HEADER_BYTES,
    LEVELS,
    Requests,
    connections_file,
)
from vlane.sim_top.studies.paper_study import NetworkCase
from vlane.study.file import study_of
from vlane.units import BLOCK_BYTES, blocks_of

COLUMNS = ("switches", "gbps", "bytes", "network", "crossbar")
PARTS = {
    "main": "16 switches at 2.5 Gb/s, packets of 256, 1024, 2048 and 4096 bytes",
    "checks": "8 and 64 switches, and links of 10 and 30 Gb/s, packets of 1024 bytes, a tenth of the time",
    "crossbars": "other crossbars, packets of 256 and 4096 bytes, a tenth of the time",
}
SIZES = (256, 1024, 2048, 4096)
MAIN = (16, 2.5)
"""Number of switches and Gb/s of the main part."""
_CHECKS = ((8, 2.5), (64, 2.5), (16, 10.0), (16, 30.0))
CROSSBARS: dict[str, dict[str, Any]] = {
    "speed2": {"speed": 2},
    "speed1": {},
    "iterations4": {"iterations": 4},
    "per_vl": {"crossbar": "per_vl"},
}
"""``[switch]`` sections; all other parts use the first."""
_SHORTER = 10
_LANES, _PACKETS, _QUICK_CYCLES = 15, 100, 1_500_000
_BUFFER_PACKETS = 4
_ATTEMPTS = {16: 150_000, 8: 75_000, 64: 600_000}


def cases(part: str, quick: bool) -> list[NetworkCase]:  # noqa: FBT001 - what every study takes
    """Return the cases of a part. Missing connection files are created."""
    if part == "main":
        return [_case(*MAIN, size, quick=quick) for size in SIZES]
    packets = _PACKETS // _SHORTER
    if part == "checks":
        return [_case(switches, gbps, 1024, packets=packets, quick=quick) for switches, gbps in _CHECKS]
    return [
        _case(*MAIN, size, crossbar, packets, quick=quick) for size in (SIZES[0], SIZES[-1]) for crossbar in CROSSBARS
    ]


@cache
def _case(
    switches: int, gbps: float, size: int, crossbar: str = "speed2", packets: int = _PACKETS, *, quick: bool
) -> NetworkCase:
    network = 1
    file = connections_file(Requests(switches, network, 1, size, gbps, _ATTEMPTS[switches]))
    lane = _BUFFER_PACKETS * blocks_of(size)
    slowest = _slowest_interval(size, gbps)
    cycles = _QUICK_CYCLES if quick else (1 + packets) * slowest
    content: dict[str, Any] = {
        "network": {"topology": "irregular", "switches": switches, "ports": 8, "hosts_per_switch": 4, "seed": network},
        "switch": CROSSBARS[crossbar],
        "link": {"rate_gbps": gbps, "data_vls": _LANES},
        "buffers": {"blocks": _LANES * lane, "minimum_blocks": lane, "maximum_blocks": lane},
        "scheduler": {"name": IB_ARBITER},
        "connections": {"file": file.name},
        "admission": {"distances": DISTANCES, "budget": BUDGET},
        "run": {"cycles": cycles, "warm_up_cycles": cycles // 3 if quick else slowest, "stuck_cycles": 1_000_000},
    }
    labels = dict(zip(COLUMNS, (str(switches), f"{gbps:g}", str(size), str(network), crossbar), strict=True))
    return NetworkCase(labels, (1.0,), (1,), study_of(content, base=file.parent))


def _slowest_interval(size: int, gbps: float) -> int:
    """Return the interval in cycles between packets of the slowest possible connection."""
    least = min(level.least for level in LEVELS)
    return ceil(8 * (size - HEADER_BYTES) / (1000 * least) * gbps * 1e9 / (8 * BLOCK_BYTES))
