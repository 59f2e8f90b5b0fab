"""Cases of the packet-size study: networks, four packet sizes, connections of ten service levels."""

from __future__ import annotations

from functools import cache
from math import ceil
from typing import Any

from vlane.schedulers.registry import IB_ARBITER
from vlane.sim_top.studies.packet_size_requests import BUDGET, DISTANCES, LEVELS, Requests, connections_file
from vlane.sim_top.studies.paper_study import NetworkCase
from vlane.study.file import study_of
from vlane.units import BLOCK_BYTES, blocks_of

COLUMNS = ("switches", "gbps", "bytes", "network", "crossbar", "requests")
PARTS = {
    "main": "16 switches at 2.5 Gb/s, packets of 256, 1024, 2048 and 4096 bytes",
    "checks": "8 and 64 switches, and links of 10 and 30 Gb/s, packets of 1024 bytes, a tenth of the time",
    "crossbars": "other crossbars, packets of 256 and 4096 bytes, a tenth of the time",
    "requests": "other orders of requests and a smaller header, packets of 256 and 4096 bytes, 500,000 cycles",
}
SIZES = (256, 1024, 2048, 4096)
ENDS = (SIZES[0], SIZES[-1])
"""Sizes of the parts with variants."""
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
REQUESTS: dict[str, dict[str, Any]] = {
    "mixed": {},
    "descending": {"order": "descending"},
    "ascending": {"order": "ascending"},
    "overhead_5": {"header_bytes": 5},
}
"""Fields of ``Requests``. All other parts use the first."""
_SHORTER = 10
_LANES, _PACKETS, _QUICK_CYCLES = 15, 100, 1_500_000
_REQUEST_CYCLES = 500_000
_BUFFER_PACKETS = 4
_ATTEMPTS = {16: 150_000, 8: 75_000, 64: 600_000}


def cases(part: str, quick: bool) -> list[NetworkCase]:  # noqa: FBT001 - what every study takes
    """Return the cases of a part. Missing connection files are created."""
    short = _QUICK_CYCLES if quick else None
    if part == "main":
        return [_case(*MAIN, size, short=short) for size in SIZES]
    packets = _PACKETS // _SHORTER
    if part == "checks":
        return [_case(switches, gbps, 1024, packets=packets, short=short) for switches, gbps in _CHECKS]
    if part == "requests":
        others = [requests for requests in REQUESTS if requests != "mixed"]
        return [_case(*MAIN, size, requests=each, short=_REQUEST_CYCLES) for each in others for size in ENDS]
    return [_case(*MAIN, size, crossbar, packets, short=short) for size in ENDS for crossbar in CROSSBARS]


@cache
def _case(
    switches: int,
    gbps: float,
    size: int,
    crossbar: str = "speed2",
    packets: int = _PACKETS,
    requests: str = "mixed",
    *,
    short: int | None,
) -> NetworkCase:
    network = 1
    asked = Requests(switches, network, 1, size, gbps, _ATTEMPTS[switches], **REQUESTS[requests])
    file = connections_file(asked)
    lane = _BUFFER_PACKETS * blocks_of(size)
    slowest = _slowest_interval(asked)
    cycles = (1 + packets) * slowest if short is None else short
    content: dict[str, Any] = {
        "network": {"topology": "irregular", "switches": switches, "ports": 8, "hosts_per_switch": 4, "seed": network},
        "switch": CROSSBARS[crossbar],
        "link": {"rate_gbps": gbps, "data_vls": _LANES},
        "buffers": {"blocks": _LANES * lane, "minimum_blocks": lane, "maximum_blocks": lane},
        "scheduler": {"name": IB_ARBITER},
        "connections": {"file": file.name},
        "admission": {"distances": DISTANCES, "budget": BUDGET},
        "run": {
            "cycles": cycles,
            "warm_up_cycles": slowest if short is None else cycles // 3,
            "stuck_cycles": 1_000_000,
        },
    }
    labels = dict(zip(COLUMNS, (str(switches), f"{gbps:g}", str(size), str(network), crossbar, requests), strict=True))
    return NetworkCase(labels, (1.0,), (1,), study_of(content, base=file.parent))


def _slowest_interval(requests: Requests) -> int:
    """Return the interval in cycles between packets of the slowest possible connection."""
    least = min(level.least for level in LEVELS)
    payload = requests.packet_bytes - requests.header_bytes
    return ceil(8 * payload / (1000 * least) * requests.gbps * 1e9 / (8 * BLOCK_BYTES))
