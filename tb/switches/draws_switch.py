"""Random lanes and destinations of packets, in a bench of a switch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw_below
from vlane.tables.lft import FIRST_MULTICAST, PERMISSIVE
from vlane.tb.switches.phases_switch import CERTAIN
from vlane.tb.switches.switch_environment import SwitchEnvironment
from vlane.tb.switches.switch_kinds import lane_numbers
from vlane.tb.switches.table_writes import one_high_bit


@inner
def draw_lane(environment: SwitchEnvironment, rng: NDArray[np.uint64], allow_absent_lanes: bool) -> int:  # noqa: FBT001 - kernels take positional arguments only
    """Draw a lane, occasionally an absent lane if ``allow_absent_lanes``."""
    return draw_below(
        rng,
        lane_numbers(environment.switches)
        if allow_absent_lanes and draw_below(rng, 8) == 0
        else environment.owed.shape[1],
    )


@inner
def draw_dlid(environment: SwitchEnvironment, rng: NDArray[np.uint64], bad: int, hot: int) -> int:
    """Draw a DLID: with probability ``bad`` one without a port, with probability ``hot`` LID 1."""
    if draw_below(rng, CERTAIN) < bad:
        lids = len(environment.lft)
        one_bit = 1 << draw_below(rng, 16)
        kinds = (
            0,
            PERMISSIVE,
            PERMISSIVE ^ one_bit,
            FIRST_MULTICAST,
            lids + draw_below(rng, 9),
            draw_below(rng, 65536),
            one_high_bit(lids, rng),
        )
        return kinds[draw_below(rng, len(kinds))]
    return 1 + (0 if draw_below(rng, CERTAIN) < hot else draw_below(rng, len(environment.lft) - 1))
