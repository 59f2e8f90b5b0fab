"""Hand-written cycles of InfiniBand credits: 2 lanes, buffers of 8 blocks each, one FCP per 4 blocks."""

from __future__ import annotations

from vlane.packets.fcp import FlowControlPacket, Op

PARAMETERS = {"data_vls": 2, "buffer_blocks": 8, "fcp_blocks": 4, "fcp_period": 64, "watchdog_cycles": 12}


def _fcp(vl: int, fctbs: int, fccl: int, op: int = Op.NORMAL) -> int:
    return FlowControlPacket(op, fctbs, vl, fccl).packed()


_THREE = {"blocks": 3 | 5 << 7}

STEPS: list[tuple[dict[str, int], dict[str, int]]] = [
    # Without a received FCP nothing fits. All free space is new, so an FCP of lane 0 is offered: 0 sent, limit 8.
    (_THREE, {"fits": 0, "fcp_valid": 1, "fcp": _fcp(0, 0, 8)}),
    ({**_THREE, "fcp_taken": 1, "initializing": 1}, {"fits": 0, "fcp_valid": 1, "fcp": _fcp(0, 0, 8, Op.INITIALIZE)}),
    # Lane 1 is next. An FCP for lane 0 arrives with limit 4.
    ({**_THREE, "fcp_taken": 1, "fcp_arrived": 1, "fcp_in": _fcp(0, 0, 4)}, {"fcp": _fcp(1, 0, 8), "fcp_bad": 0}),
    # 3 of 4 blocks fit, and the grant counts at once. No FCP is sent during the packet; one is due after blocks are
    # accepted.
    ({**_THREE, "grant": 1, "grant_vl": 0, "grant_blocks": 3}, {"fits": 0b01, "fcp_valid": 0, "fctbs": 0}),
    (
        {**_THREE, "arrived": 1, "arrived_vl": 1, "arrived_blocks": 6},
        {"fits": 0, "accepted": 1, "fctbs": 3, "fcp_valid": 0},
    ),
    (
        {**_THREE, "arrived": 1, "arrived_vl": 1, "arrived_blocks": 3},
        {"accepted": 0, "abr": 6 << 12, "room": 8 | 2 << 12},
    ),
    ({"tail": 1, "freed": 1, "freed_vl": 1}, {"abr": 6 << 12, "fcp_valid": 0}),
    ({"freed": 1, "freed_vl": 1}, {"room": 8 | 3 << 12, "fcp_valid": 0}),
    ({"freed": 1, "freed_vl": 1}, {"room": 8 | 4 << 12, "fcp_valid": 0}),
    # An FCTBS that reveals a lost packet: ABR is set to it, and the answer is due at once.
    ({"fcp_arrived": 1, "fcp_in": _fcp(0, 2, 4095)}, {"fcp_bad": 0, "abr": 6 << 12}),
    ({"blocks": 60 | 1 << 7}, {"abr": 2 | 6 << 12, "fcp_valid": 1, "fcp": _fcp(0, 3, 10), "fits": 0}),
    # 4095 - 3 = 4092: more than 2048 ahead counts as behind. A wrong checksum, operand or lane is ignored.
    ({"fcp_arrived": 1, "fcp_in": _fcp(0, 9, 9) ^ 1}, {"fcp_bad": 1, "fccl": 4095}),
    ({"fcp_arrived": 1, "fcp_in": _fcp(0, 9, 9, 2)}, {"fcp_bad": 1, "overdue": 0b10}),
    ({"fcp_arrived": 1, "fcp_in": _fcp(2, 9, 9)}, {"fcp_bad": 1, "abr": 2 | 6 << 12, "overdue": 0b10}),
]
"""(inputs, outputs) of consecutive cycles from power-on; omitted inputs are 0, omitted outputs are not compared."""
