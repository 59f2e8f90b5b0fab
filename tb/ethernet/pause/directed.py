"""Hand-written cycles of PAUSE: 1000 bytes, watermarks of 800 and 600, a refresh after 5 cycles."""

from __future__ import annotations

PARAMETERS = {"memory_bytes": 1000, "high_bytes": 800, "low_bytes": 600, "refresh_cycles": 5}

Step = tuple[dict[str, int], dict[str, int]]

_ON, _OFF = {"paused": 1, "quanta": 65535}, {"paused": 0, "quanta": 0}


def _arrive(length: int, **outputs: int) -> Step:
    return {"arrive": 1, "arrive_bytes": length}, outputs


def _leave(length: int, **outputs: int) -> Step:
    return {"leave": 1, "leave_bytes": length}, outputs


STEPS: list[Step] = [
    ({}, {"level": 0, "high": 800, "low": 600, "pause_on": 1, "request": 0, **_OFF}),
    # at the high watermark nothing happens; one byte more pauses the neighbour from the next cycle on
    _arrive(800, drop=0, level=0),
    _arrive(1, drop=0, level=800, request=0, **_OFF),
    ({}, {"level": 801, "request": 1, **_ON}),
    # a frame as large as the free space fits; one byte more does not, even if another frame leaves
    ({"arrive": 1, "arrive_bytes": 200, "leave": 1, "leave_bytes": 500}, {"drop": 1, "drops": 0, "level": 801}),
    _arrive(699, drop=0, drops=1, level=301, request=0, **_OFF),
    ({}, {"level": 1000, "request": 1, **_ON}),
    # once sent, PAUSE is not requested again until five cycles later
    ({"pause_sent": 1}, {"request": 1, **_ON}),
    *[({}, {"request": 0, **_ON}) for _ in range(4)],
    ({}, {"request": 1, **_ON}),
    ({"pause_sent": 1}, {"request": 1, **_ON}),
    # hysteresis: at 800 and at 600 it stays paused, at 599 it resumes
    _leave(200, level=1000, request=0, **_ON),
    _leave(200, level=800, request=0, **_ON),
    _leave(1, level=600, request=0, **_ON),
    ({}, {"level": 599, "request": 1, **_OFF}),
    # above the high watermark again before the resume was sent: the last frame sent is right again
    _arrive(300, level=599, request=1, **_OFF),
    ({}, {"level": 899, "request": 1, **_ON}),
    ({"pause_sent": 1}, {"request": 1, **_ON}),
    # PAUSE is switched off: the neighbour must be resumed
    ({"program__enable": 1, "program__high": 400, "program__low": 300}, {"request": 0, **_ON}),
    ({}, {"high": 400, "low": 300, "pause_on": 0, "request": 1, **_OFF}),
    ({"pause_sent": 1}, {"request": 1, **_OFF}),
    ({}, {"request": 0, **_OFF}),
    # switched on again, with the low watermark above the high one: the high one decides
    ({"program__enable": 1, "program__high": 400, "program__low": 950, "program__pause_on": 1}, _OFF),
    ({}, {"level": 899, "request": 1, **_ON}),
    # more bytes leave than are stored
    _leave(900, level=899),
    ({}, {"level": 0, "request": 0, **_OFF}),
    # reset restores the parameters
    ({"rst": 1, "arrive": 1, "arrive_bytes": 64, "pause_sent": 1}, {"drops": 1}),
    ({}, {"level": 0, "drops": 0, "high": 800, "low": 600, "pause_on": 1, "request": 0, **_OFF}),
]
"""Inputs and expected outputs, cycle by cycle from reset."""
