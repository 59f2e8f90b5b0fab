"""Hand-written cycles of the InfiniBand switch: 2 ports, 2 VLs, round robin, packets of up to 2 flits."""

from __future__ import annotations

from typing import Any

from vlane.packets.lrh import LNH_BTH, LocalRouteHeader, packet_words
from vlane.schedulers.registry import DEFAULT

PARAMETERS: dict[str, Any] = {
    "ports": 2,
    "data_vls": 2,
    "blocks": 6,
    "minimum": 2,
    "maximum": 4,
    "largest": 2,
    "scheduler": DEFAULT,
    "entries": 1,
    "lids": 4,
    "data_bits": 64,
}

Step = tuple[dict[str, int], dict[str, int]]

_NOTHING = {
    name: 0
    for port in (0, 1)
    for name in (f"tx__{port}__valid", f"returned__{port}__blocks", f"tx__{port}__first", f"tx__{port}__last")
} | {"dropped": 0}


def header(vl: int, sl: int, dlid: int, flits: int) -> int:
    """Return a header with a SLID, which the switch does not change."""
    return LocalRouteHeader(vl, 0, sl, 0, LNH_BTH, dlid, packet_words(64 * flits), 0xABC).pack()


def flit(port: str, vl: int, data: int, *, first: bool = True, last: bool = True) -> dict[str, int]:
    """Return a flit on a link."""
    return {
        f"{port}__valid": 1,
        f"{port}__vl": vl,
        f"{port}__first": first,
        f"{port}__last": last,
        f"{port}__data": data,
    }


def _return(port: int, vl: int) -> dict[str, int]:
    return {f"returned__{port}__blocks": 1, f"returned__{port}__vl": vl}


BODY = 0x0123_4567_89AB_CDEF

STEPS: list[Step] = [
    # Table: LIDs 1 to 3 exist; LID 1 leads to port 2, LID 2 to port 0. SL2VL is in its power-on state, SL modulo 2.
    ({"lft__enable": 1, "lft__top": 1, "lft__lid": 3}, {}),
    ({"lft__enable": 1, "lft__lid": 1, "lft__port": 2}, {}),
    ({"lft__enable": 1, "lft__lid": 2, "lft__port": 0}, {}),
    # Cycle a: one flit on VL 0, SL 1. Its block is returned in a + 4; the flit leaves in a + 5, on VL 1.
    (flit("rx__0", 0, header(0, 1, 1, 1)), {}),
    ({}, {}),
    ({}, {}),
    ({}, {}),
    ({}, _return(0, 0)),
    ({}, flit("tx__1", 1, header(1, 1, 1, 1))),
    # Both inputs at once, SL 0: output 2 accepts input 2 first, because input 1 was last; the other one follows at
    # once.
    (flit("rx__0", 1, header(1, 0, 1, 1)) | flit("rx__1", 1, header(1, 2, 1, 1)), {}),
    ({}, {}),
    ({}, {}),
    ({}, {}),
    ({}, _return(1, 1)),
    ({}, flit("tx__1", 0, header(0, 2, 1, 1)) | _return(0, 1)),
    ({}, flit("tx__1", 0, header(0, 0, 1, 1))),
    # Two flits for port 0, then one for a LID above the top: drops are reported two cycles after the heads; the blocks
    # return.
    (flit("rx__0", 0, header(0, 0, 2, 2), last=False), {}),
    (flit("rx__0", 0, BODY, first=False), {}),
    (flit("rx__0", 1, header(1, 0, 7, 1)), {"dropped": 3}),
    ({}, {}),
    ({}, _return(0, 0) | {"dropped": 1}),
    ({}, _return(0, 0)),
    ({}, _return(0, 1)),
    # The far end of port 2 has returned none of VL 0's two blocks and VL 1's one: VL 0 has credit for a packet of 2,
    # then for none.
    (flit("rx__1", 0, header(0, 0, 1, 2), last=False), {}),
    (flit("rx__1", 0, BODY, first=False), {}),
    (flit("rx__1", 0, header(0, 2, 1, 1)), {}),
    ({}, {}),
    ({}, _return(1, 0)),
    ({}, _return(1, 0) | flit("tx__1", 0, header(0, 0, 1, 2), last=False)),
    ({}, _return(1, 0) | flit("tx__1", 0, BODY, first=False)),
    ({}, {}),
    ({}, {}),
    # A block of VL 0 returns: it counts from the next cycle on, and the packet leaves one cycle later.
    ({"far_returned__1__blocks": 1, "far_returned__1__vl": 0}, {}),
    ({}, {}),
    ({}, flit("tx__1", 0, header(0, 2, 1, 1))),
    ({}, {}),
    # Port 2's link stalls in the cycle in which a packet could start, and in the next one: it starts two cycles later.
    (flit("rx__0", 1, header(1, 1, 1, 1)), {}),
    ({}, {}),
    ({}, {}),
    ({}, {}),
    ({"ready": 0b01}, _return(0, 1)),
    ({"ready": 0b01}, {}),
    ({}, {}),
    ({}, flit("tx__1", 1, header(1, 1, 1, 1))),
    # A packet larger than the largest is discarded and reported, whether its VL has space (3 blocks) or not (5).
    (flit("rx__0", 1, header(1, 0, 1, 5), last=False), {}),
    (flit("rx__0", 1, BODY, first=False), {}),
    (flit("rx__0", 0, header(0, 0, 1, 3)), {"dropped": 4}),
    ({}, {}),
    ({}, {"dropped": 4}),
    ({}, {}),
    ({}, {}),
    ({}, {}),
]
STEPS = [({"ready": 0b11} | given, _NOTHING | expected) for given, expected in STEPS]
