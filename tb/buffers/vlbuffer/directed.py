"""Hand-written cycles of a VL buffer: 2 lanes, 6 flits, 1 guaranteed, at most 4, packets of up to 3.

Two write ports and two read ports, up to 2 flits each, of 8 bits.
"""

from __future__ import annotations

from typing import Any

PARAMETERS: dict[str, Any] = {
    "vls": 2,
    "flits": 6,
    "minimum": 1,
    "maximum": 4,
    "mtu_flits": 3,
    "writers": 2,
    "readers": 2,
    "write_flits": 2,
    "read_flits": 2,
    "data_bits": 8,
    "form": "shared",
}

Step = tuple[dict[str, int], dict[str, int]]


def _counts(first: int, second: int) -> int:
    return first | second << 14


def _flits(*flits: int) -> int:
    return sum(flit << 8 * place for place, flit in enumerate(flits))


STEPS: list[Step] = [
    ({"reserve_vl": 0, "reserve_flits": 3}, {"room": 0b11, "accepted": 1, "used": 0}),
    # Lane 0 uses 2 of the 4 shared flits, so lane 1 may reserve 3. Lane 0 itself may reserve 1 more, so no packet of 3.
    ({"reserve_vl": 0, "reserve_flits": 2}, {"room": 0b10, "accepted": 0, "used": _counts(3, 0)}),
    (
        {"reserve_vl": 1, "reserve_flits": 3, "write_vl": 0, "write_count": 2, "write_data": _flits(10, 11)},
        {"accepted": 1, "discarded": 0, "held": 0},
    ),
    # All shared and both guaranteed flits are in use. Written flits are visible one cycle later, oldest first.
    (
        {"reserve_vl": 0, "reserve_flits": 1, "read_vl": 0},
        {
            "room": 0,
            "accepted": 0,
            "readable": 2 | 2 << 2,
            "read_data": _flits(10, 11, 10, 11),
            "held": _counts(2, 0),
            "used": _counts(3, 3),
        },
    ),
    # Both ports name lane 0: the first port that removes flits wins. Meanwhile lane 1 fills its reservation: 3 of 4
    # flits fit.
    (
        {
            "read_vl": 0,
            "read_count": 1 | 2 << 2,
            "write_vl": 1 | 1 << 5,
            "write_count": 2 | 2 << 2,
            "write_data": _flits(20, 21, 22, 23),
        },
        {"discarded": 1},
    ),
    (
        {"read_vl": 0 | 1 << 5, "read_count": 1 | 2 << 2, "write_vl": 0, "write_count": 1, "write_data": _flits(12)},
        {"readable": 1 | 2 << 2, "read_data": _flits(11, 0, 20, 21), "held": _counts(1, 3), "used": _counts(2, 3)},
    ),
    # The last flit of lane 0 left in the cycle in which another one entered.
    (
        {"read_vl": 0 | 1 << 5, "read_count": 2 | 1 << 2},
        {
            "readable": 1 | 1 << 2,
            "read_data": _flits(12, 0, 22, 0),
            "held": _counts(1, 1),
            "used": _counts(1, 1),
            "room": 0b11,
        },
    ),
    ({"write_vl": 0, "write_count": 1, "write_data": _flits(99)}, {"discarded": 1, "held": 0, "used": 0}),
    ({"reserve_vl": 2, "reserve_flits": 1, "read_vl": 7}, {"accepted": 0, "readable": 0, "read_data": 0}),
]
"""(inputs, outputs) of consecutive cycles from power-on; omitted inputs are 0, omitted outputs are not compared."""
