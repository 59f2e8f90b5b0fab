"""Random lanes and destinations of packets, in a bench of a switch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw_below
from vlane.tables.lft import FIRST_MULTICAST, PERMISSIVE
from vlane.tb.switches.phases_switch import CERTAIN
from vlane.tb.switches.surroundings_switch import SwitchSurroundings
from vlane.tb.switches.switch_kinds import lane_numbers
from vlane.tb.switches.table_writes import one_high_bit


@inner
def draw_lane(surroundings: SwitchSurroundings, bits: NDArray[np.uint64], reckless: bool) -> int:  # noqa: FBT001 - kernels take positional arguments only
    """Draw a lane, occasionally an absent lane if ``reckless``."""
    return draw_below(
        bits,
        lane_numbers(surroundings.switches) if reckless and draw_below(bits, 8) == 0 else surroundings.owed.shape[1],
    )


@inner
def draw_dlid(surroundings: SwitchSurroundings, bits: NDArray[np.uint64], bad: int, hot: int) -> int:
    """Draw a DLID: with probability ``bad`` one without a port, with probability ``hot`` LID 1."""
    if draw_below(bits, CERTAIN) < bad:
        lids = len(surroundings.lft)
        one_bit = 1 << draw_below(bits, 16)
        kinds = (
            0,
            PERMISSIVE,
            PERMISSIVE ^ one_bit,
            FIRST_MULTICAST,
            lids + draw_below(bits, 9),
            draw_below(bits, 65536),
            one_high_bit(lids, bits),
        )
        return kinds[draw_below(bits, len(kinds))]
    return 1 + (0 if draw_below(bits, CERTAIN) < hot else draw_below(bits, len(surroundings.lft) - 1))
