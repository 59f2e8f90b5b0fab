"""Hand-written cycles of the reaction point: 4 flows, 10 Gb/s, a bucket of 1500 bytes."""

from __future__ import annotations

from itertools import chain

from vlane.ethernet.ecm_rp import ASK_CYCLES, NOTICE_CYCLES, Notice

PARAMETERS = {"flows": 4}

Step = tuple[dict[str, int], dict[str, int]]
_BUSY = {"ready": 0, "done": 0, "may": 0, "limited": 0, "rate": 0}


def _order(inputs: dict[str, int], cycles: int, outputs: dict[str, int]) -> list[Step]:
    """Return an order, the cycles until the answer, and the answer."""
    wait: list[Step] = [({"order": 1}, _BUSY)] * (cycles - 1)
    return [({"order": 1, **inputs}, {"ready": 1, "done": 0}), *wait, ({}, {"ready": 1, "done": 1, **outputs})]


def _ask(flow: int, length: int, **outputs: int) -> list[Step]:
    return _order({"ask": 1, "flow": flow, "frame_bytes": length}, ASK_CYCLES, outputs)


def _notification(flow: int, notice: Notice, cpid: int = 0, feedback: int = 0, **outputs: int) -> list[Step]:
    given = {"flow": flow, "notice": notice, "cpid": cpid, "feedback": feedback & 0x1FFF}
    return _order(given, NOTICE_CYCLES, {"may": 0, **outputs})


_NO_LIMITER = {"limited": 0, "rate": 0, "tag": 0, "limiters": 0}
STEPS: list[Step] = list(
    chain(
        _ask(0, 1500, may=1, **_NO_LIMITER),
        _notification(0, Notice.POINT, 5, 100, **_NO_LIMITER),
        _notification(0, Notice.DRIFT, **_NO_LIMITER),
        # f = 2929 x 11453 / 1024 = 32759; R = 2560000 - 2560000 x 32759 / 65536 = 1279648
        _notification(0, Notice.POINT, 5, -2929, limited=1, rate=1_280_352, probe=0, tag=5, limiters=1),
        _notification(0, Notice.POINT, 6, 1000, limited=1, rate=1_280_352, tag=5),
        _notification(0, Notice.POINT, 5, 0, limited=1, rate=1_280_352, tag=5),
        # f = 1000 x 11453 / 1024 = 11184; 2560000 x 410 / 4096 = 256250, times f: 87460
        _notification(0, Notice.POINT, 5, 1000, limited=1, rate=1_367_812, tag=5, limiters=1),
        # a full bucket of 60 million tokens; it regains 20.5 million in 15 cycles, 41.0 million in 30 cycles
        _ask(0, 1500, may=1, limited=1, rate=1_367_812),
        _ask(0, 1500, may=0, limited=1),
        _ask(0, 1025, may=1, limited=1),
        # 34360 tokens are left; 15 cycles later there are 20551540, but 514 bytes need 20560000
        _ask(0, 514, may=0, limited=1),
        _ask(1, 9000, may=1, limited=0, limiters=1),
        _notification(0, Notice.DRIFT, limited=1, rate=1_367_889, tag=5),
        # a probe raises the rate too; f is at most 1
        _notification(0, Notice.PROBE, 3, 4095, limited=1, rate=1_624_139, probe=0, tag=5),
        _notification(0, Notice.PROBE, 3, -1, limited=1, rate=1_623_867, probe=1, tag=3),
        # a stop of another flow, which may not start; its rate rises all the same
        _notification(2, Notice.STOP, 9, limited=1, rate=256, tag=9, limiters=2),
        _ask(2, 64, may=0, limited=1, rate=256),
        _notification(2, Notice.PROBE, 1, 2000, limited=1, rate=175_184, probe=0, tag=9),
        _ask(2, 64, may=0, limited=1),
        # rises until the limiter is removed
        *(_notification(0, Notice.PROBE, 3, 4095, limited=1) for _ in range(3)),
        _notification(0, Notice.PROBE, 3, 4095, limited=0, rate=0, tag=0, limiters=1),
        _ask(0, 1500, may=1, limited=0),
        # reset
        [({"rst": 1}, {"ready": 1})],
        _ask(2, 1500, may=1, **_NO_LIMITER),
    )
)
"""Inputs and expected outputs, cycle by cycle from reset."""
