"""Directed look-ups of Omni-Path's SC maps: 2 ports, 8 data VLs.

Inputs and outputs follow from the contract page.
"""

from __future__ import annotations

from typing import Any

from vlane.tables.sc import SCTable
from vlane.tb.tables.steps import Step, pack

PARAMETERS = {"ports": 2, "data_vls": 8}
"""Parameters of the instance."""


def _sc(inputs: dict[str, Any], expected: dict[str, Any], **program: int) -> Step:
    widths = {"channel": 5, "egress": 6, "channel_out": 5, "vl": 5, "vl_in": 5}
    rows = tuple(
        {name: pack(value, widths[name]) if isinstance(value, tuple) else int(value) for name, value in side.items()}
        for side in (inputs, expected)
    )
    return {**rows[0], **{f"program__{k}": v for k, v in program.items()}}, rows[1]


STEPS: list[Step] = [
    # 1 to 1 after power-on: channels 8 and up have no lane; SC15 is always on VL15
    _sc(
        {"channel": (3, 15), "egress": (1, 0)},
        {"channel_out": (3, 15), "vl": (3, 15), "vl_in": (3, 15), "drop": 0},
        enable=1,
        table=SCTable.SC2SC,
        ingress=0,
        egress=1,
        index=3,
        value=9,
    ),
    _sc(
        {"channel": (3, 8), "egress": (1, 0)},
        {"channel_out": 0, "vl": 0, "vl_in": (3, 0), "drop": 3, "invalid_in": 2},
        enable=1,
        table=SCTable.SC2VL_T,
        egress=1,
        index=9,
        value=2,
    ),
    _sc(
        {"channel": (3, 3), "egress": (1, 1)},
        {"channel_out": (9, 3), "vl": (2, 3), "drop": 0},
        enable=1,
        table=SCTable.SC2VL_T,
        egress=1,
        index=15,
        value=4,
    ),
    _sc(
        {"channel": (15, 15), "egress": (1, 2)},
        {"channel_out": (15, 0), "vl": (15, 0), "drop": 2},
        enable=1,
        table=SCTable.SC2SC,
        ingress=1,
        egress=0,
        index=4,
        value=15,
    ),
    _sc(
        {"channel": (4, 4), "egress": (0, 0)},
        {"channel_out": (4, 0), "vl": (4, 0), "drop": 2},
        enable=1,
        table=SCTable.SC2VL_T,
        egress=0,
        index=4,
        value=15,
    ),
    _sc(
        {"channel": (4, 5), "egress": (0, 0)},
        {"channel_out": (0, 5), "vl": (0, 5), "drop": 1},
        enable=1,
        table=SCTable.SC2VL_NT,
        ingress=1,
        index=20,
        value=7,
    ),
    _sc({"channel": (20, 20)}, {"vl_in": (0, 7), "invalid_in": 1}, enable=1, table=SCTable.SL2SC, index=2, value=15),
    _sc(
        {"inject_sl": 2, "receive_sc": 30},
        {"inject_sc": 0, "inject_drop": 1, "receive_sl": 30},
        enable=1,
        table=SCTable.SC2SL,
        index=30,
        value=2,
    ),
    _sc({"inject_sl": 3, "receive_sc": 30}, {"inject_sc": 3, "inject_drop": 0, "receive_sl": 2}),
]
"""One cycle each, from power-on."""
