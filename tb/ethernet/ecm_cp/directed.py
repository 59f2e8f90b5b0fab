"""Hand-written cycles of the congestion point: Qeq 4000, W 2, a sample every 16384 bytes, BCN above 40000.

Expected outputs are listed next to their frame; the hardware shows them seven cycles later, the queue two cycles later.
The notification above 40000 bytes is BCN(0,0).
"""

from __future__ import annotations

from vlane.ethernet.ecm_cp import SHOWN_CYCLES

PARAMETERS = {
    "set_point_bytes": 4000,
    "sample_bytes": 16_384,
    "sampling": "fixed",
    "queue_bytes": 50_000,
    "bcn_max": True,
    "max_bytes": 30_000,
    "bcn_stop": True,
    "stop_bytes": 40_000,
}

Step = tuple[dict[str, int], dict[str, int]]
_CPID = 7
_NONE = {"sampled": 0, "notify": 0, "stop": 0, "feedback": 0}


def _enter(length: int, *, tag: int = -1, managed: int = 1, leave: int = 0, **outputs: int) -> Step:
    given = {"enter": 1, "enter_bytes": length, "managed": managed, "cpid": _CPID}
    given |= {"leave": 1, "leave_bytes": leave} if leave else {}
    given |= {"has_tag": 1, "tag": tag} if tag >= 0 else {}
    return given, outputs or _NONE


def _sample(feedback: int, *, notify: int, stop: int = 0) -> dict[str, int]:
    return {"sampled": 1, "notify": notify, "stop": stop, "feedback": feedback & 0x1FFF}


def _leave(length: int) -> Step:
    return {"leave": 1, "leave_bytes": length}, _NONE


_ACTS: list[Step] = [
    _enter(16_000),
    _leave(13_000),
    _enter(383),  # one byte less than a sample
    _enter(9000, managed=0),  # not counted
    _leave(11_383),
    # Q = 1000 + 1 = 1001: 4000 - 1001 - 2 (1001 - 0) = 997 bytes, 15 units; without a tag it is not sent
    _enter(1, **_sample(15, notify=0)),
    # Q = 1001 + 16383 - 16383, then a sample with Q = 1002: 2998 - 2 = 2996, 46 units; tag of another point
    _enter(16_383, leave=16_383),
    _enter(1, tag=6, **_sample(46, notify=0)),
    _enter(16_383, leave=16_383),
    _enter(1, tag=_CPID, **_sample(46, notify=1)),  # Q = 1003: 2997 - 2 = 2995
    # fast growth: Q = 10386: -6386 - 2 x 9383 = -25152, saturated at 5 x 4000 = 20000, 312 units
    _enter(16_383, leave=7001),
    _enter(1, **_sample(-312, notify=1)),
    # fall: Q = 4100 is above Qeq, but was 10386: -100 + 2 x 6286 = 12472, 194 units
    _leave(10_386),
    _enter(16_383, leave=12_284),
    _enter(1, tag=_CPID, **_sample(194, notify=1)),
    # Q fell from 4100 to 4032: -32 + 2 x 68 = 104 bytes, 1 unit; then Q = 4033: -33 - 2 = -35, 0 units
    _leave(4100),
    _enter(16_383, leave=12_352),
    _enter(1, tag=_CPID, **_sample(1, notify=1)),
    _enter(16_383, leave=16_383),
    _enter(1, tag=_CPID, **_sample(0, notify=0)),
    # Q = 36416 is above max_bytes: the most negative feedback; Q = 49416 is above stop_bytes: BCN(0,0)
    _enter(16_383),
    _enter(16_000, **_sample(-312, notify=1)),
    _enter(13_000, tag=_CPID, **_sample(0, notify=1, stop=1)),
    # the queue saturates at 50000, shown two cycles later
    _enter(16_000, managed=0),
]
_LATE: list[Step] = [({}, {}) for _ in range(SHOWN_CYCLES)]
_END: list[Step] = [
    ({"leave": 1, "leave_bytes": 16_000}, {"waiting": 50_000}),
    ({}, {"waiting": 50_000}),
    ({"enter": 1, "enter_bytes": 64, "managed": 1, "rst": 1}, {"waiting": 34_000}),
    *[({}, {**_NONE, "waiting": 0}) for _ in range(SHOWN_CYCLES)],
]
STEPS: list[Step] = [
    *((given, shown) for (given, _), (_, shown) in zip([*_ACTS, *_LATE], [*_LATE, *_ACTS], strict=True)),
    *_END,
]
"""Inputs and expected outputs, cycle by cycle from reset."""
