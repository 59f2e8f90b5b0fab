"""Hand-written cycles of an InfiniBand switch with a crossbar port per VL and queues: 2 ports, 2 VLs of 2 blocks."""

from __future__ import annotations

from typing import Any

from vlane.schedulers.registry import DEFAULT
from vlane.tb.switches.ib_switch.directed import BODY, Step, flit, header

PARAMETERS: dict[str, Any] = {
    "ports": 2,
    "data_vls": 2,
    "blocks": 4,
    "minimum": 2,
    "maximum": 2,
    "largest": 2,
    "scheduler": DEFAULT,
    "entries": 1,
    "lids": 4,
    "data_bits": 64,
    "crossbar": "per_vl",
    "allocation": "fifo",
}

_NOTHING = {
    name: 0
    for port in (0, 1)
    for name in (f"tx__{port}__valid", f"returned__{port}__blocks", f"tx__{port}__first", f"tx__{port}__last")
} | {"dropped": 0}


def _returned(port: int, vls: int) -> dict[str, int]:
    return {f"returned__{port}__blocks": vls}


STEPS: list[Step] = [
    # Table: LIDs 1 to 3 exist; LID 1 leads to port 2. SL2VL is in its power-on state, SL modulo 2.
    ({"lft__enable": 1, "lft__top": 1, "lft__lid": 3}, {}),
    ({"lft__enable": 1, "lft__lid": 1, "lft__port": 2}, {}),
    # Cycle a: one flit on VL 0, SL 1. Its block is returned in a + 4; the flit leaves in a + 5, on VL 1.
    (flit("rx__0", 0, header(0, 1, 1, 1)), {}),
    ({}, {}),
    ({}, {}),
    ({}, {}),
    ({}, _returned(0, 0b01)),
    ({}, flit("tx__1", 1, header(1, 1, 1, 1))),
    # Cycle t: two requests join the queue of port 2's VL 0 in t + 2, input 1's first. Input 2's packet of two blocks
    # fits only when both blocks of the VL's share are free; its next packet, on VL 1, fits earlier and overtakes.
    (flit("rx__0", 0, header(0, 0, 1, 1)) | flit("rx__1", 0, header(0, 2, 1, 2), last=False), {}),
    (flit("rx__1", 0, BODY, first=False), {}),
    (flit("rx__1", 1, header(1, 4, 1, 1)), {}),
    ({}, {}),
    ({}, _returned(0, 0b01)),
    # t + 5: on VL 1 again, but to VL 1: it crosses in t + 8, together with the first of the two flits that waited.
    (flit("rx__1", 1, header(1, 1, 1, 1)), flit("tx__1", 0, header(0, 0, 1, 1))),
    ({}, _returned(1, 0b10)),
    ({}, flit("tx__1", 0, header(0, 4, 1, 1))),
    # t + 8: blocks of both VLs return from the far end at the same time, then another one of VL 0.
    ({"far_returned__1__blocks": 0b11}, {}),
    ({"far_returned__1__blocks": 0b01}, _returned(1, 0b11)),
    ({}, _returned(1, 0b01) | flit("tx__1", 1, header(1, 1, 1, 1))),
    ({}, flit("tx__1", 0, header(0, 2, 1, 2), last=False)),
    ({}, flit("tx__1", 0, BODY, first=False)),
    # Two flits for a LID above the top: the drop is reported two cycles after the head; the blocks return.
    (flit("rx__0", 1, header(1, 0, 7, 2), last=False), {}),
    (flit("rx__0", 1, BODY, first=False), {}),
    ({}, {"dropped": 1}),
    ({}, {}),
    ({}, _returned(0, 0b10)),
    ({}, _returned(0, 0b10)),
    ({}, {}),
]
STEPS = [({"ready": 0b11} | given, _NOTHING | expected) for given, expected in STEPS]
