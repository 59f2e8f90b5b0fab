"""Directed look-ups of the SL2VL table: 2 inputs, 3 outputs, 4 data VLs.

Inputs and outputs follow from the contract page.
"""

from __future__ import annotations

from vlane.tb.tables.steps import Step, pack

PARAMETERS = {"inputs": 2, "outputs": 3, "data_vls": 4}
"""Parameters of the instance."""


def _sl2vl(
    outputs: tuple[int, int], sls: tuple[int, int], vls: tuple[int, int], drop: int, invalid: int, **program: int
) -> Step:
    given = {"out_port": pack(outputs, 6), "sl": pack(sls, 4), **{f"program__{k}": v for k, v in program.items()}}
    return given, {"vl": pack(vls, 4), "drop": drop, "invalid": invalid}


_ROW = pack((3, 2, 1, 0, 15, 4, *(0,) * 10), 4)
STEPS: list[Step] = [
    # after power-on SL modulo 4; written in this cycle, the old row still holds
    _sl2vl((0, 2), (5, 15), (1, 3), 0, 0, enable=1, input=0, output=2, row=_ROW),
    _sl2vl((2, 2), (0, 0), (3, 0), 0, 0),
    # 15 drops; lane 4 of 4 lanes is invalid; output 3 is not there
    _sl2vl((2, 2), (4, 1), (15, 1), 0b01, 0, enable=1, input=5, output=2, row=0),
    _sl2vl((2, 3), (5, 0), (15, 15), 0b11, 0b11, enable=1, every_input=1, output=1, row=_ROW),
    _sl2vl((1, 1), (3, 2), (0, 1), 0, 0, enable=1, every_input=1, output=3, row=0),
    _sl2vl((0, 0), (9, 10), (1, 2), 0, 0),
]
"""One cycle each, from power-on."""
