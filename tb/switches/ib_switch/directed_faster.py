"""Hand-written cycles of an InfiniBand switch of speed 2: 2 ports, 2 VLs, packets of up to 5 flits."""

from __future__ import annotations

from typing import Any

from vlane.schedulers.registry import DEFAULT
from vlane.tb.switches.ib_switch.directed import BODY, Step, flit, header

PARAMETERS: dict[str, Any] = {
    "ports": 2,
    "data_vls": 2,
    "blocks": 14,
    "minimum": 5,
    "maximum": 9,
    "largest": 5,
    "scheduler": DEFAULT,
    "entries": 1,
    "lids": 4,
    "data_bits": 64,
    "speed": 2,
}

_NOTHING = {
    name: 0
    for port in (0, 1)
    for name in (f"tx__{port}__valid", f"returned__{port}__blocks", f"tx__{port}__first", f"tx__{port}__last")
} | {"dropped": 0}


def _returned(port: int, vl: int, blocks: int) -> dict[str, int]:
    return {f"returned__{port}__blocks": blocks, f"returned__{port}__vl": vl}


def _body(port: str, vl: int, place: int, *, last: bool = False) -> dict[str, int]:
    return flit(port, vl, BODY + place, first=False, last=last)


STEPS: list[Step] = [
    # Table: LIDs 1 to 3 exist; LID 1 leads to port 2. SL2VL is in its power-on state, SL modulo 2.
    ({"lft__enable": 1, "lft__top": 1, "lft__lid": 3}, {}),
    ({"lft__enable": 1, "lft__lid": 1, "lft__port": 2}, {}),
    # Cycle a: five flits on VL 0, SL 1, granted in a + 2 while they arrive. Two cross in a + 3, two in a + 4, one in a
    # + 5; their blocks are returned a cycle later. The head leaves in a + 5, as with speed 1, and the other flits
    # follow.
    (flit("rx__0", 0, header(0, 1, 1, 5), last=False), {}),
    (_body("rx__0", 0, 1), {}),
    (_body("rx__0", 0, 2), {}),
    (_body("rx__0", 0, 3), {}),
    (_body("rx__0", 0, 4, last=True), _returned(0, 0, 2)),
    ({}, _returned(0, 0, 2) | flit("tx__1", 1, header(1, 1, 1, 5), last=False)),
    ({}, _returned(0, 0, 1) | _body("tx__1", 1, 1)),
    ({}, _body("tx__1", 1, 2)),
    ({}, _body("tx__1", 1, 3)),
    ({}, _body("tx__1", 1, 4, last=True)),
    # Both inputs begin a packet of three flits for VL 0 at once. Output 2 accepted input 1 last, so input 2 crosses
    # first: two flits, then one, without a flit of input 1, which is granted in that cycle.
    (flit("rx__0", 1, header(1, 0, 1, 3), last=False) | flit("rx__1", 0, header(0, 2, 1, 3), last=False), {}),
    (_body("rx__0", 1, 1) | _body("rx__1", 0, 1), {}),
    (_body("rx__0", 1, 2, last=True) | _body("rx__1", 0, 2, last=True), {}),
    ({}, {}),
    ({}, _returned(1, 0, 2)),
    ({}, _returned(1, 0, 1) | flit("tx__1", 0, header(0, 2, 1, 3), last=False)),
    ({}, _returned(0, 1, 2) | _body("tx__1", 0, 1)),
    ({}, _returned(0, 1, 1) | _body("tx__1", 0, 2, last=True)),
    ({}, flit("tx__1", 0, header(0, 0, 1, 3), last=False)),
    ({}, _body("tx__1", 0, 1)),
    ({}, _body("tx__1", 0, 2, last=True)),
    # The far end holds 6 blocks of VL 0 and 5 of VL 1. Five more of VL 0 are 2 too many for its maximum, 9: two blocks
    # that return at once free the space, and count from the next cycle on.
    (flit("rx__0", 0, header(0, 0, 1, 5), last=False), {}),
    (_body("rx__0", 0, 1), {}),
    (_body("rx__0", 0, 2), {}),
    (_body("rx__0", 0, 3), {}),
    (_body("rx__0", 0, 4, last=True), _returned(0, 0, 2)),
    ({}, _returned(0, 0, 2)),
    ({"far_returned__1__blocks": 2, "far_returned__1__vl": 0}, _returned(0, 0, 1)),
    ({}, {}),
    ({}, flit("tx__1", 0, header(0, 0, 1, 5), last=False)),
    ({}, _body("tx__1", 0, 1)),
    ({}, _body("tx__1", 0, 2)),
    ({}, _body("tx__1", 0, 3)),
    ({}, _body("tx__1", 0, 4, last=True)),
    # Three flits for a LID above the top are discarded, two and one. A flit on another VL follows; it gets credit when
    # a block returns.
    (flit("rx__1", 0, header(0, 0, 7, 3), last=False), {}),
    (_body("rx__1", 0, 1), {}),
    (_body("rx__1", 0, 2, last=True), {"dropped": 1 << 3}),
    (flit("rx__1", 1, header(1, 2, 1, 1)), {}),
    ({}, _returned(1, 0, 2)),
    ({}, _returned(1, 0, 1)),
    ({"far_returned__1__blocks": 1, "far_returned__1__vl": 0}, {}),
    ({}, _returned(1, 1, 1)),
    ({}, flit("tx__1", 0, header(0, 2, 1, 1))),
    # Cycle g: five flits with gaps, arriving in g, g + 2, g + 3, g + 6 and g + 7. Two cross in g + 3, and one each in g
    # + 4, g + 7 and g + 8, the cycle after its arrival. On the link flits 3 and 4 are late.
    ({"far_returned__1__blocks": 2, "far_returned__1__vl": 1}, {}),
    ({"far_returned__1__blocks": 2, "far_returned__1__vl": 1}, {}),
    ({"far_returned__1__blocks": 2, "far_returned__1__vl": 0}, {}),
    (flit("rx__0", 0, header(0, 1, 1, 5), last=False), {}),
    ({}, {}),
    (_body("rx__0", 0, 1), {}),
    (_body("rx__0", 0, 2), {}),
    ({}, _returned(0, 0, 2)),
    ({}, _returned(0, 0, 1) | flit("tx__1", 1, header(1, 1, 1, 5), last=False)),
    (_body("rx__0", 0, 3), _body("tx__1", 1, 1)),
    (_body("rx__0", 0, 4, last=True), _body("tx__1", 1, 2)),
    ({}, _returned(0, 0, 1)),
    ({}, _returned(0, 0, 1) | _body("tx__1", 1, 3)),
    ({}, _body("tx__1", 1, 4, last=True)),
    ({}, {}),
]
STEPS = [({"ready": 0b11} | given, _NOTHING | expected) for given, expected in STEPS]
