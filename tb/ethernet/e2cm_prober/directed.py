"""Hand-written cycles of the prober: 4 flows, all probed, learned least delay, 75000 bytes between probes."""

from __future__ import annotations

from itertools import chain

from vlane.ethernet.e2cm_prober import REPLY_CYCLES, START_CYCLES

PARAMETERS = {"flows": 4}

Step = tuple[dict[str, int], dict[str, int]]
_NOTHING = {"done": 0, "follow": 0, "sent": 0, "valid": 0, "feedback": 0}
_BUSY = {"ready": 0, **_NOTHING}
_CLEARS: list[Step] = [({"order": 1}, _BUSY)] * PARAMETERS["flows"]


def _order(inputs: dict[str, int], cycles: int, outputs: dict[str, int]) -> list[Step]:
    """Return an order, the cycles until the answer, and the answer."""
    wait: list[Step] = [({"order": 1}, _BUSY)] * (cycles - 1)
    return [({"order": 1, **inputs}, {"ready": 1}), *wait, ({}, {**_NOTHING, "ready": 1, "done": 1, **outputs})]


def _frame(flow: int, length: int, **outputs: int) -> list[Step]:
    return _order({"flow": flow, "frame_bytes": length}, START_CYCLES, outputs)


def _probe(flow: int, **outputs: int) -> list[Step]:
    return _order({"flow": flow, "probe": 1, "frame_bytes": 64}, START_CYCLES, outputs)


def _reply(flow: int, stamp: int, arrival: int, reported: int, feedback: int | None = None) -> list[Step]:
    given = {"reply": 1, "flow": flow, "stamp": stamp, "arrival": arrival, "reported": reported}
    shown = {} if feedback is None else {"valid": 1, "feedback": feedback & 0x1FFF}
    return _order(given, REPLY_CYCLES, shown)


STEPS: list[Step] = list(
    chain(
        _CLEARS,
        _frame(1, 1500, follow=1),
        _probe(1, sent=1500),
        *(_frame(1, 15_000) for _ in range(4)),
        # 60000 and 14999 bytes since the probe; 75000 with the next frame
        _frame(1, 14_999),
        _frame(1, 1, follow=1),
        _frame(1, 64),
        _probe(1, sent=76_564),
        _probe(0),
        # the first reply, after 100 cycles, yields no feedback
        _reply(1, 1000, 1100, 1500),
        # no excess: 3750 / 64
        _reply(1, 2000, 2100, 76_500, 58),
        # 40 cycles of excess, 75000 bytes in 1000 cycles: 40 x 75000 / 1040 = 2884; 3750 - 2884 - 2 x 2884
        _reply(1, 3000, 3140, 151_500, -76),
        # probe arrivals in the same cycle as the previous one, and one cycle earlier
        _reply(1, 3000, 3140, 160_000),
        _reply(1, 3000, 3139, 160_000),
        # 2000 cycles of excess: 2000 x 75000 / 3000 = 50000; 3750 - 50000 - 2 x 47116 = -140482, within 187500
        _reply(1, 4040, 6140, 226_500, -2195),
        # 1050475 cycles of excess, clamped to 1048575; x 300000 / 1048575 = 300000: saturates at -187500
        _reply(1, 6140 - 2000, 6140 + 1_048_575, 526_500, -2929),
        # the least delay is now 90 cycles, and the occupancy 0: saturates at 187500
        _reply(1, 2_000_000, 2_000_090, 601_500, 2929),
        # 10 cycles of excess: 10 x 100 / 1010 = 0
        _reply(1, 2_001_000, 2_001_100, 601_600, 58),
        # reset clears bytes and replies
        [({"rst": 1}, {"ready": 1})],
        _CLEARS,
        _probe(1),
        _frame(1, 64, follow=1),
        _reply(1, 1000, 1100, 1500),
        _reply(1, 2000, 2010, 1600, 58),
    )
)
"""Inputs and expected outputs, cycle by cycle from reset."""
