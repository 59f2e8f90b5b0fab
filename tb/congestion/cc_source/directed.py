"""Hand-written cycles of the source: 8 entries in 2 sets, a tick of 64 cycles, timers that end at once.

Expected outputs are listed in the cycle in which their inputs act; the hardware shows them five cycles later.
"""

from __future__ import annotations

from vlane.congestion.cc_source import SHOWN_CYCLES, CCSourceSelect

PARAMETERS = {"flows": 8, "cct_entries": 128, "tick_cycles": 64}

Step = tuple[dict[str, int], dict[str, int]]


def _write(select: CCSourceSelect, index: int = 0, **values: int) -> Step:
    given = {f"program__{name}": value for name, value in values.items()}
    return {"program__enable": 1, "program__select": select, "program__index": index, **given}, {}


def _ask(dlid: int, blocks: int, sl: int = 0, **shown: int) -> Step:
    return {"ask": 1, "ask_dlid": dlid, "ask_sl": sl, "ask_blocks": blocks}, shown


def _becn(dlid: int, sl: int = 0, **shown: int) -> Step:
    return {"becn": 1, "becn_dlid": dlid, "becn_sl": sl}, shown


_NOTHING = {"may": 0, "lost": 0, "taken": 0, "lost_becns": 0}
_ACTS: list[Step] = [
    # SL 0: a BECN adds 2, a timer of 9 ticks, logged from 4 on; SL 1: the same, with a timer that ends at once
    _write(CCSourceSelect.LEVEL, 0, increase=2, timer=9, trigger=4),
    _write(CCSourceSelect.LEVEL, 1, increase=2, timer=0),
    _write(CCSourceSelect.LIMIT, limit=200),  # clamped to 127
    _write(CCSourceSelect.LIMIT, limit=5),
    _write(CCSourceSelect.TABLE, 2, multiplier=3, shift=1),
    _write(CCSourceSelect.TABLE, 4, multiplier=1, shift=0),
    # no flow is known: every packet may be injected at once
    _ask(6, 4),
    _ask(6, 4, may=1, known=0, taken=0),
    _becn(6, may=1, known=0, taken=0),
    _ask(6, 4, lost=0, log=0, taken=0),
    # CCTI 2: 4 blocks and a gap of 4 x 3 / 2 = 6: the flow is held for the next 9 cycles, not in the tenth
    ({}, {"may": 1, "known": 1, "ccti": 2, "taken": 1}),
    *[({}, {"may": 0, "known": 0, "ccti": 0}) for _ in range(7)],
    _ask(6, 1),
    _ask(6, 1, may=0, known=1),  # acts in the ninth cycle
    # in the tenth cycle it may inject: 1 block and a gap of 1 x 3 / 2 = 1 are 2 cycles, but the shortest gap is 8
    _ask(6, 1, may=1, known=1),
    *[_ask(6, 1, may=0, known=1) for _ in range(7)],
    ({}, {"may": 1}),
    # two BECNs: 4 is logged, 5 is the limit
    _becn(6),
    _becn(6, log=1, log_dlid=6, log_sl=0, lost=0),
    _ask(6, 1, log=0, lost=0),
    ({}, {"known": 1, "ccti": 5}),
    # even DLIDs share a set: three more flows fill it and the fifth is lost; an odd DLID is in the other set
    _becn(2),
    _becn(4, taken=1),
    _becn(8, taken=2),
    _becn(10, taken=3, lost=0),
    _becn(3, taken=4, lost=1, lost_becns=0),
    _ask(10, 3, sl=0, lost=0, taken=4, lost_becns=1),
    _ask(3, 3, may=1, known=0, taken=5),
    ({}, {"may": 1, "known": 1, "ccti": 2}),
    # SLs as flows: DLIDs are ignored
    _write(CCSourceSelect.PORT_CONTROL, port_mode=1),
    _becn(77, sl=1, taken=5),
    _ask(99, 2, sl=1, lost=0, taken=5),
    ({}, {"may": 1, "known": 1, "ccti": 2, "taken": 6}),
    # a timer of 0 ticks: each round of the sweep (8 cycles) lowers the CCTI by 1, then the entry is freed
    *[({}, {}) for _ in range(36)],
    _ask(1, 2, sl=1, taken=5),
    ({}, {"may": 1, "known": 0}),
    ({}, {"may": 0, "taken": 5, "lost_becns": 1}),
    # reset clears flows, mode, limit and pending answers; it preserves memories
    _ask(9, 1),
    *[({}, _NOTHING) for _ in range(SHOWN_CYCLES - 1)],
    ({"rst": 1, "ask": 1, "ask_dlid": 6, "becn": 1, "becn_dlid": 6}, _NOTHING),
    *[({}, _NOTHING) for _ in range(2)],
    _becn(6),
    _ask(6, 4),
    ({}, {"may": 1, "known": 1, "ccti": 0, "taken": 1}),
]
_LATE: list[Step] = [({}, {}) for _ in range(SHOWN_CYCLES)]
STEPS: list[Step] = [(given, shown) for (given, _), (_, shown) in zip([*_ACTS, *_LATE], [*_LATE, *_ACTS], strict=True)]
"""Inputs and expected outputs, cycle by cycle from reset."""
