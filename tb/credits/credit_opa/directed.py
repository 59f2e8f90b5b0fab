"""Hand-written cycles of Omni-Path credits: 2 lanes, a credit unit of 1."""

from __future__ import annotations

from vlane.credits.credit_opa import BufferSelect, ResizeStep

PARAMETERS = {"vls": 2, "vcu": 0}

Step = tuple[dict[str, int], dict[str, int]]
_HEADS = {"blocks": 4 | 4 << 7}


def _write(select: BufferSelect, vl: int, units: int) -> Step:
    return {"program__enable": 1, "program__select": select, "program__vl": vl, "program__units": units}, {"step": 0}


def _return(vl: int, code: int) -> list[Step]:
    bits = vl << 3 | code
    return [({"ltp_arrived": 1, "credit_in": bits >> 2 * ltp & 3}, {"return_error": 0}) for ltp in range(4)]


def _change(*steps: ResizeStep) -> list[Step]:
    return [({}, {"step": int(step)}) for step in steps]


_WHOLE = (
    ResizeStep.DRAIN_SHARED,
    ResizeStep.LOWER_DEDICATED,
    ResizeStep.DRAIN_DEDICATED,
    ResizeStep.RAISE_DEDICATED,
    ResizeStep.RAISE_SHARED,
    ResizeStep.RAISE_OVERALL,
)

STEPS: list[Step] = [
    # No limits: nothing fits. Lane 0: 4 dedicated, 4 shared; lane 1: 2 dedicated, 6 shared; 5 shared in all.
    (_HEADS, {"fits": 0, "step": 0, "used": 0}),
    _write(BufferSelect.DEDICATED, 0, 4),
    _write(BufferSelect.SHARED, 0, 4),
    _write(BufferSelect.DEDICATED, 1, 2),
    _write(BufferSelect.SHARED, 1, 6),
    _write(BufferSelect.OVERALL, 0, 5),
    ({"apply": 1}, {"step": 0, "fits": 0b11}),
    *_change(*_WHOLE, ResizeStep.IDLE),
    # Lane 0 takes its 4 dedicated and 4 shared units. A packet of 4 on lane 1 would share 2 more: 6 exceed the 5 shared
    # ones.
    ({**_HEADS, "grant": 1, "grant_vl": 0, "grant_blocks": 4}, {"fits": 0b11}),
    ({**_HEADS, "grant": 1, "grant_vl": 0, "grant_blocks": 4}, {"fits": 0b11, "used": 4}),
    ({"blocks": 1 | 4 << 7}, {"fits": 0b00, "used": 8}),
    ({"blocks": 1 | 3 << 7}, {"fits": 0b10}),
    # Code 3 returns 4 units, shared ones first, so lane 1 may share again.
    *_return(0, 3),
    (_HEADS, {"fits": 0b11, "used": 4}),
    # Fewer units for lane 0: sharing stops at once, because none is outstanding; lowering waits for 2 of the 4 units.
    _write(BufferSelect.DEDICATED, 0, 2),
    ({"apply": 1}, {"step": 0}),
    *_change(
        ResizeStep.DRAIN_SHARED, ResizeStep.LOWER_DEDICATED, ResizeStep.DRAIN_DEDICATED, ResizeStep.DRAIN_DEDICATED
    ),
    ({**_HEADS, "apply": 1}, {"fits": 0b10, "step": int(ResizeStep.DRAIN_DEDICATED)}),
    *_return(0, 2),
    *_change(
        ResizeStep.DRAIN_DEDICATED,
        ResizeStep.RAISE_DEDICATED,
        ResizeStep.RAISE_SHARED,
        ResizeStep.RAISE_OVERALL,
        ResizeStep.IDLE,
    ),
    (_HEADS, {"fits": 0b11, "used": 2}),
    # 3 and 2 units leave lane 1's buffer: 5 are owed, returned as code 3 (4 units) and code 1.
    ({"freed": 1, "freed_vl": 1, "freed_blocks": 3}, {"owed": 0}),
    ({"freed": 1, "freed_vl": 1, "freed_blocks": 2}, {"owed": 3 << 12}),
    *[({"ltp_sent": 1}, {"credit_out": 0, "owed": 5 << 12})] * 4,
    *[({"ltp_sent": 1}, {"credit_out": bits, "owed": 1 << 12}) for bits in (3, 2, 0, 0)],
    *[({"ltp_sent": 1}, {"credit_out": bits, "owed": 0}) for bits in (1, 2, 0, 0)],
    ({"ltp_sent": 1}, {"credit_out": 0}),
    # A return exceeds the outstanding units: an error, and the counter becomes 0.
    *_return(0, 7)[:3],
    ({"ltp_arrived": 1, "credit_in": 0}, {"return_error": 1, "used": 2}),
    ({}, {"used": 0}),
]
"""(inputs, outputs) of consecutive cycles from power-on; omitted inputs are 0, omitted outputs are not compared."""
