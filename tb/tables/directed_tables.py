"""Hand-written look-ups, with inputs and outputs from the contract pages only.

SL to VL: 2 inputs, 3 outputs, 4 data lanes. LFT: 2 look-ups, 5 ports, 40 entries. Omni-Path maps: 2 ports, 8 data
lanes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vlane.tables.lft import LFTCause
from vlane.tables.sc import SCTable

Step = tuple[dict[str, int], dict[str, int]]

PARAMETERS: dict[str, dict[str, int]] = {
    "sl2vl": {"inputs": 2, "outputs": 3, "data_vls": 4},
    "lft": {"lookups": 2, "ports": 5, "entries": 40},
    "sc": {"ports": 2, "data_vls": 8},
}
"""Parameters of the instances to which the look-ups apply."""


def _pack(values: Iterable[int], bits: int) -> int:
    return sum(value << bits * index for index, value in enumerate(values))


def _sl2vl(
    outputs: tuple[int, int], sls: tuple[int, int], vls: tuple[int, int], drop: int, invalid: int, **program: int
) -> Step:
    given = {"output": _pack(outputs, 6), "sl": _pack(sls, 4), **{f"program__{k}": v for k, v in program.items()}}
    return given, {"vl": _pack(vls, 4), "drop": drop, "invalid": invalid}


def _lft(dlids: tuple[int, int], ports: tuple[int, int], causes: tuple[int, int], **program: int) -> Step:
    given = {"dlid": _pack(dlids, 16), **{f"program__{k}": v for k, v in program.items()}}
    drop = _pack((int(cause != 0) for cause in causes), 1)
    return given, {"port": _pack(ports, 8), "drop": drop, "cause": _pack(causes, 3)}


def _sc(given: dict[str, Any], expected: dict[str, Any], **program: int) -> Step:
    widths = {"channel": 5, "egress": 6, "channel_out": 5, "vl": 5, "vl_in": 5}
    rows = tuple(
        {name: _pack(value, widths[name]) if isinstance(value, tuple) else int(value) for name, value in side.items()}
        for side in (given, expected)
    )
    return {**rows[0], **{f"program__{k}": v for k, v in program.items()}}, rows[1]


_ROW = _pack((3, 2, 1, 0, 15, 4, *(0,) * 10), 4)

STEPS: dict[str, list[Step]] = {
    "sl2vl": [
        # after power-on SL modulo 4; in the cycle of a write the old row is in force
        _sl2vl((0, 2), (5, 15), (1, 3), 0, 0, enable=1, input=0, output=2, row=_ROW),
        _sl2vl((2, 2), (0, 0), (3, 0), 0, 0),
        # 15 drops; lane 4 of 4 lanes is invalid; output 3 does not exist
        _sl2vl((2, 2), (4, 1), (15, 1), 0b01, 0, enable=1, input=5, output=2, row=0),
        _sl2vl((2, 3), (5, 0), (15, 15), 0b11, 0b11, enable=1, every_input=1, output=1, row=_ROW),
        _sl2vl((1, 1), (3, 2), (0, 1), 0, 0, enable=1, every_input=1, output=3, row=0),
        _sl2vl((0, 0), (9, 10), (1, 2), 0, 0),
    ],
    "lft": [
        # the top is 0: only the permissive LID is routed
        _lft((7, 0xFFFF), (255, 0), (LFTCause.ABOVE_TOP, 0), enable=1, lid=7, port=3),
        _lft((7, 0), (255, 255), (LFTCause.ABOVE_TOP, LFTCause.RESERVED), enable=1, top=1, lid=9),
        _lft((7, 9), (3, 255), (0, LFTCause.UNASSIGNED), enable=1, lid=9, port=6),
        _lft((9, 10), (255, 255), (LFTCause.NO_SUCH_PORT, LFTCause.ABOVE_TOP), enable=1, lid=9, port=5),
        _lft((9, 0xC000), (5, 255), (0, LFTCause.MULTICAST), enable=1, top=1, lid=0xFFFF),
        _lft((40, 0xBFFF), (255, 255), (LFTCause.ABOVE_TOP, LFTCause.ABOVE_TOP), enable=1, lid=9, port=0),
        _lft((9, 0xFFFE), (0, 255), (0, LFTCause.MULTICAST), enable=1, lid=7, port=255),
        ({"rst": 1}, {}),
        _lft((9, 7), (255, 255), (LFTCause.ABOVE_TOP, LFTCause.ABOVE_TOP)),
    ],
    "sc": [
        # identity after power-on: channels 8 and up have no lane; SC15 is always on VL15
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
        _sc(
            {"channel": (20, 20)}, {"vl_in": (0, 7), "invalid_in": 1}, enable=1, table=SCTable.SL2SC, index=2, value=15
        ),
        _sc(
            {"inject_sl": 2, "receive_sc": 30},
            {"inject_sc": 0, "inject_drop": 1, "receive_sl": 30},
            enable=1,
            table=SCTable.SC2SL,
            index=30,
            value=2,
        ),
        _sc({"inject_sl": 3, "receive_sc": 30}, {"inject_sc": 3, "inject_drop": 0, "receive_sl": 2}),
    ],
}
"""One cycle each, from power-on."""
