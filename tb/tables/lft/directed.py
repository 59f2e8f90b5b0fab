"""Directed look-ups of the LFT: 2 look-ups a cycle, 5 ports, 40 entries.

Inputs and outputs follow from the contract page.
"""

from __future__ import annotations

from vlane.tables.lft import LFTCause
from vlane.tb.tables.steps import Step, pack

PARAMETERS = {"lookups": 2, "ports": 5, "entries": 40}
"""Parameters of the instance."""


def _lft(dlids: tuple[int, int], ports: tuple[int, int], causes: tuple[int, int], **program: int) -> Step:
    given = {"dlid": pack(dlids, 16), **{f"program__{k}": v for k, v in program.items()}}
    drop = pack((int(cause != 0) for cause in causes), 1)
    return given, {"out_port": pack(ports, 8), "drop": drop, "cause": pack(causes, 3)}


STEPS: list[Step] = [
    # the top is 0: nothing but the permissive LID is routed
    _lft((7, 0xFFFF), (255, 0), (LFTCause.ABOVE_TOP, 0), enable=1, lid=7, port=3),
    _lft((7, 0), (255, 255), (LFTCause.ABOVE_TOP, LFTCause.RESERVED), enable=1, top=1, lid=9),
    _lft((7, 9), (3, 255), (0, LFTCause.UNASSIGNED), enable=1, lid=9, port=6),
    _lft((9, 10), (255, 255), (LFTCause.NO_SUCH_PORT, LFTCause.ABOVE_TOP), enable=1, lid=9, port=5),
    _lft((9, 0xC000), (5, 255), (0, LFTCause.MULTICAST), enable=1, top=1, lid=0xFFFF),
    _lft((40, 0xBFFF), (255, 255), (LFTCause.ABOVE_TOP, LFTCause.ABOVE_TOP), enable=1, lid=9, port=0),
    _lft((9, 0xFFFE), (0, 255), (0, LFTCause.MULTICAST), enable=1, lid=7, port=255),
    ({"rst": 1}, {}),
    _lft((9, 7), (255, 255), (LFTCause.ABOVE_TOP, LFTCause.ABOVE_TOP)),
]
"""One cycle each, from power-on."""
