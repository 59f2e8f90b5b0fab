"""Hand-written cycles of the Omni-Path switch: MPorts of 4 and 1 ports, 2 VLs, round robin, up to 4 flits."""

from __future__ import annotations

from typing import Any

from vlane.packets.lrh import LocalRouteHeader, packet_words
from vlane.schedulers.registry import DEFAULT
from vlane.tables.sc import SC15, SCTable

PARAMETERS: dict[str, Any] = {
    "ports": 5,
    "data_vls": 2,
    "blocks": 16,
    "minimum": 4,
    "maximum": 12,
    "largest": 4,
    "central_blocks": 12,
    "central_minimum": 4,
    "central_maximum": 8,
    "scheduler": DEFAULT,
    "entries": 1,
    "lids": 4,
    "data_bits": 64,
}

Step = tuple[dict[str, int], dict[str, int]]

_NOTHING = {
    name: 0
    for port in range(5)
    for name in (f"tx__{port}__valid", f"returned__{port}__blocks", f"tx__{port}__first", f"tx__{port}__last")
} | {"dropped": 0}


def _header(sc: int, dlid: int, flits: int) -> int:
    """Return a header of service level 21 with a SLID, neither of which the switch changes."""
    return LocalRouteHeader.of_channel(sc=sc, sl=21, dlid=dlid, pktlen=packet_words(64 * flits), slid=0xABC).pack()


def _flit(port: str, vl: int, data: int, *, first: bool = True, last: bool = True) -> dict[str, int]:
    return {
        f"{port}__valid": 1,
        f"{port}__vl": vl,
        f"{port}__first": first,
        f"{port}__last": last,
        f"{port}__data": data,
    }


def _body(port: str, vl: int, data: int, *, last: bool = False) -> dict[str, int]:
    return _flit(port, vl, data, first=False, last=last)


def _return(port: int, vl: int, blocks: int = 1) -> dict[str, int]:
    return {f"returned__{port}__blocks": blocks, f"returned__{port}__vl": vl}


def _sc(table: SCTable, ingress: int, egress: int, index: int, value: int) -> dict[str, int]:
    return {
        "sc__enable": 1,
        "sc__table": int(table),
        "sc__ingress": ingress,
        "sc__egress": egress,
        "sc__index": index,
        "sc__value": value,
    }


STEPS: list[Step] = [
    # LID 1 leads to port 2 of the first MPort, LID 2 to port 5 of the other one. Channels 0 and 1 are mapped to VL 0
    # and 1.
    ({"lft__enable": 1, "lft__top": 1, "lft__lid": 3} | _sc(SCTable.SC2SC, 0, 1, 0, 17), {}),
    ({"lft__enable": 1, "lft__lid": 1, "lft__port": 2} | _sc(SCTable.SC2VL_T, 0, 1, 17, 1), {}),
    ({"lft__enable": 1, "lft__lid": 2, "lft__port": 5}, {}),
    # Cycle a: one flit within the MPort. Its block is returned in a + 4; the flit leaves in a + 5, with channel 17, on
    # VL 1.
    (_flit("rx__0", 0, _header(0, 1, 1)), {}),
    ({}, {}),
    ({}, {}),
    ({}, {}),
    ({}, _return(0, 0)),
    ({}, _flit("tx__1", 1, _header(17, 1, 1))),
    # Four flits within the MPort: three cross in a + 3, the last one, which arrived in a + 3, in a + 4.
    (_flit("rx__0", 1, _header(1, 1, 4), last=False), {}),
    (_body("rx__0", 1, 0xB1), {}),
    (_body("rx__0", 1, 0xB2), {}),
    (_body("rx__0", 1, 0xB3, last=True), {}),
    ({}, _return(0, 1, 3)),
    ({}, _return(0, 1, 1) | _flit("tx__1", 1, _header(1, 1, 4), last=False)),
    ({}, _body("tx__1", 1, 0xB1)),
    ({}, _body("tx__1", 1, 0xB2)),
    ({}, _body("tx__1", 1, 0xB3, last=True)),
    # Four flits through the central buffer: the first one leaves in a + 8.
    (_flit("rx__0", 1, _header(1, 2, 4), last=False), {}),
    (_body("rx__0", 1, 0xC1), {}),
    (_body("rx__0", 1, 0xC2), {}),
    (_body("rx__0", 1, 0xC3, last=True), {}),
    ({}, _return(0, 1, 3)),
    ({}, _return(0, 1, 1)),
    ({}, {}),
    ({}, {}),
    ({}, _flit("tx__4", 1, _header(1, 2, 4), last=False)),
    ({}, _body("tx__4", 1, 0xC1)),
    ({}, _body("tx__4", 1, 0xC2)),
    ({}, _body("tx__4", 1, 0xC3, last=True)),
    # Two inputs request the central buffer at once: the one after the last accepted input goes first, the other a cycle
    # later.
    (_flit("rx__0", 0, _header(0, 2, 1)) | _flit("rx__1", 0, _header(0, 2, 1) + 1), {}),
    ({}, {}),
    ({}, {}),
    ({}, {}),
    ({}, _return(1, 0)),
    ({}, _return(0, 0)),
    ({}, {}),
    ({}, {}),
    ({}, _flit("tx__4", 0, _header(0, 2, 1) + 1)),
    ({}, _flit("tx__4", 0, _header(0, 2, 1))),
    # Both write ports of port 2: three flits from the other MPort and three from its own request it in the same cycle,
    # on one VL. Input 1 was accepted last, so a read port precedes it, and input 1 follows a cycle later.
    (_flit("rx__4", 1, _header(1, 1, 3), last=False), {}),
    (_body("rx__4", 1, 0xD1), {}),
    (_body("rx__4", 1, 0xD2, last=True), {}),
    (_flit("rx__0", 1, _header(1, 1, 3) + 2, last=False), {}),
    (_body("rx__0", 1, 0xE1), _return(4, 1, 3)),
    (_body("rx__0", 1, 0xE2, last=True), {}),
    ({}, {}),
    ({}, {}),
    ({}, _return(0, 1, 3) | _flit("tx__1", 1, _header(1, 1, 3), last=False)),
    ({}, _body("tx__1", 1, 0xD1)),
    ({}, _body("tx__1", 1, 0xD2, last=True)),
    ({}, _flit("tx__1", 1, _header(1, 1, 3) + 2, last=False)),
    ({}, _body("tx__1", 1, 0xE1)),
    ({}, _body("tx__1", 1, 0xE2, last=True)),
    # SC15 and a channel with an absent lane are dropped, reported two cycles after their heads; three flits of one
    # packet are returned at once.
    (_flit("rx__2", 0, _header(SC15, 1, 1)), {}),
    (_flit("rx__2", 1, _header(9, 1, 3), last=False), {}),
    (_body("rx__2", 1, 0xF1), {"dropped": 2 << 3 * 2}),
    (_body("rx__2", 1, 0xF2, last=True), {"dropped": 2 << 3 * 2}),
    ({}, _return(2, 0)),
    ({}, _return(2, 1, 3)),
    ({}, {}),
    ({}, {}),
    ({}, {}),
]
STEPS = [({"ready": 0b11111} | given, _NOTHING | expected) for given, expected in STEPS]
