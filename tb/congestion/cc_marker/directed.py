"""Hand-written cycles of the marker: 2 lanes, limits of 12 blocks from a maximum of 16, busy from 10 blocks on."""

from __future__ import annotations

from vlane.congestion.cc_marker import CCMarkerSelect

PARAMETERS = {
    "data_vls": 2,
    "maximum": 16,
    "largest": 4,
    "measure_blocks": 16,
    "busy_blocks": 10,
    "level_blocks": 20,
    "idle_blocks": 4,
}

Step = tuple[dict[str, int], dict[str, int]]

_BITS = 128
_HEADER = 2 << _BITS - 16
"""LNH 2 in the second byte: a transport header follows."""
_FECN = 1 << _BITS - 97
_CNP = _HEADER | 0x80 << _BITS - 72
_RAW = 1 << _BITS - 16
_GRH = 3 << _BITS - 16


def _write(select: CCMarkerSelect, **values: int) -> Step:
    given = {f"program__{name}": value for name, value in values.items()}
    return {"program__enable": 1, "program__select": select, **given}, {"mark": 0}


def _start(
    vl: int,
    measure: int,
    *,
    mark: int,
    root: int = 0,
    victim: int = 0,
    blocks: int = 4,
    flit: int = _HEADER,
    program: dict[str, int] | None = None,
) -> Step:
    given = {"free": 1, "start": 1, "start_vl": vl, "start_blocks": blocks, "flit_in": flit}
    shown = {"mark": mark, "root": root, "victim": victim, "flit_out": flit | (_FECN if mark else 0)}
    return {**given, "measure": measure << 5 * (vl & 1), **(program or {})}, shown


_WAITS: Step = ({"free": 1, "asks": 0b01, "fits": 0b10}, {"mark": 0, "starved": 0})

STEPS: list[Step] = [
    # without settings, Threshold 0 marks nothing, however full and busy the port is
    *[_start(0, 16, mark=0) for _ in range(4)],
    ({"measure": 16}, {"over": 0, "level": 16, "threshold": 0}),
    # Threshold 4: 16 x 12 / 16 = 12 blocks, in force one cycle after the write
    _start(0, 16, mark=0, program={"program__enable": 1, "program__select": 1, "program__threshold": 4}),
    ({"measure": 12 | 11 << 5}, {"over": 0b01, "level": 20, "threshold": 4}),
    _start(1, 11, mark=0),
    _start(1, 12, mark=1, root=1),
    _start(1, 12, mark=1, root=1),
    # Threshold 15: the sixteenth would be 1 block, but the limit is at least two largest packets and a block, 9
    _write(CCMarkerSelect.THRESHOLD, threshold=15),
    ({"measure": 9 | 8 << 5}, {"over": 0b01, "threshold": 15}),
    # one packet in 3 is marked, per lane; the first one starts the count
    _write(CCMarkerSelect.MARKING_RATE, marking_rate=2),
    _start(0, 9, mark=1, root=1),
    _start(1, 9, mark=1, root=1),
    ({}, {"left": 2 | 2 << 16, "marking_rate": 2}),
    _start(0, 9, mark=0, root=1),
    _start(0, 8, mark=0),
    _start(0, 9, mark=0, root=1, flit=_CNP),
    _start(0, 9, mark=0, root=1, flit=_RAW),
    _start(0, 9, mark=0, root=1, flit=_GRH),
    _start(0, 9, mark=0, root=1, flit=_HEADER | _FECN),
    ({}, {"left": 2 << 16}),
    _start(0, 9, mark=1, root=1),
    # a new rate takes effect at once, even in the cycle of a mark
    _start(0, 9, mark=0, root=1),
    _start(0, 9, mark=0, root=1, program={"program__enable": 1, "program__select": 2, "program__marking_rate": 5}),
    ({}, {"left": 0, "marking_rate": 5}),
    _start(0, 9, mark=1, root=1, program={"program__enable": 1, "program__select": 2}),
    ({}, {"left": 0, "marking_rate": 0}),
    # packets of 3 blocks are too small for Packet_Size 4
    _write(CCMarkerSelect.THRESHOLD, threshold=15, packet_size=4),
    _start(0, 9, mark=0, root=1, blocks=3),
    _start(0, 9, mark=1, root=1, blocks=4),
    # VL15 and absent lanes
    _start(15, 16, mark=0),
    _start(2, 16, mark=0),
    # lane 0 waits for credit on a free link: it is a victim once; three idle cycles leave 20 - 3 x 4 = 8, not busy
    _WAITS,
    ({}, {"starved": 0b01, "level": 16}),
    _start(0, 9, mark=0, victim=1),
    _start(0, 9, mark=1, root=1),
    ({"asks": 0b01}, {"starved": 0}),
    *[({"free": 1}, {"starved": 0}) for _ in range(3)],
    ({}, {"level": 8, "starved": 0}),
    _start(0, 9, mark=0),
    _start(0, 9, mark=1, root=1),
    # the mask admits victims, and lanes over their limit on an idle link
    _write(CCMarkerSelect.VICTIM_MASK, victim_mask=1),
    _WAITS,
    _start(0, 9, mark=1, victim=1),
    *[({"free": 1}, {}) for _ in range(6)],
    ({}, {"level": 0, "victim_mask": 1}),
    _start(0, 9, mark=1),
    _start(0, 8, mark=0),
    # the port's own element: first one for credit starvation, then one that is in force
    _write(CCMarkerSelect.PORT, valid=1, control_type=1, threshold=1, marking_rate=7),
    ({}, {"threshold": 15, "packet_size": 4, "marking_rate": 0}),
    _write(CCMarkerSelect.PORT, valid=1, threshold=1, marking_rate=7),
    ({"measure": 15 | 14 << 5}, {"threshold": 1, "packet_size": 0, "marking_rate": 7, "over": 0b01}),
    _write(CCMarkerSelect.PORT, threshold=1, marking_rate=7),
    ({}, {"threshold": 15, "packet_size": 4, "marking_rate": 0}),
    # reset clears everything
    ({"rst": 1, "program__enable": 1, "program__threshold": 9, "program__select": 1}, {"victim_mask": 1}),
    ({"measure": 16}, {"threshold": 0, "packet_size": 0, "victim_mask": 0, "level": 0, "over": 0, "left": 0}),
]
"""Inputs and expected outputs, cycle by cycle from reset."""
