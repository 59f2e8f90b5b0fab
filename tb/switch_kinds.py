"""What rows of a switch take from its kind; the type of golden's state says which it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from vlane.golden.ib_switch import IBSwitches
from vlane.golden.kernel import by_type, inner
from vlane.golden.opa_switch import OPASwitches
from vlane.golden.packets import CHANNEL
from vlane.golden.random_bits import below
from vlane.tb import rows_ib_switch, rows_opa_switch
from vlane.tb.flits import on_channel, on_lane
from vlane.tb.world_switch import Surroundings

from vlane.sc import SC_COUNT
from vlane.sl2vl import SL_COUNT

__all__ = [
    "apply_map",
    "count_kinds",
    "describe",
    "draw_map",
    "lane_numbers",
    "show_map",
    "stamp_of",
    "stamped",
]


@inner
def _lane_numbers_ib(switches: Any) -> int:  # noqa: ARG001 - chosen by its type
    return rows_ib_switch.NUMBERS


@inner
def _lane_numbers_opa(switches: Any) -> int:  # noqa: ARG001 - chosen by its type
    return rows_opa_switch.NUMBERS


@by_type({IBSwitches: _lane_numbers_ib, OPASwitches: _lane_numbers_opa})
def lane_numbers(switches: Any) -> int:
    """Return how many lanes a link can name."""


@inner
def _describe_ib(switches: Any, lane: int, bits: NDArray[np.uint64]) -> tuple[int, int, int, int]:  # noqa: ARG001 - chosen by its type
    return rows_ib_switch.PASSES, below(bits, SL_COUNT), 0, lane


@inner
def _describe_opa(switches: Any, lane: int, bits: NDArray[np.uint64]) -> tuple[int, int, int, int]:  # noqa: ARG001 - chosen by its type
    channel = below(bits, SC_COUNT)
    return rows_opa_switch.PASSES, 0, channel, channel


@by_type({IBSwitches: _describe_ib, OPASwitches: _describe_opa})
def describe(switches: Any, lane: int, bits: NDArray[np.uint64]) -> tuple[int, int, int, int]:
    """Draw a packet; return the bits of its header that pass through, its SL, its channel, its stamp."""


@inner
def _stamp_of_ib(switches: Any, field: NDArray[np.int32], lane: int) -> int:  # noqa: ARG001 - chosen by its type
    return lane


@inner
def _stamp_of_opa(switches: Any, field: NDArray[np.int32], lane: int) -> int:  # noqa: ARG001 - chosen by its type
    return int(field[CHANNEL])


@by_type({IBSwitches: _stamp_of_ib, OPASwitches: _stamp_of_opa})
def stamp_of(switches: Any, field: NDArray[np.int32], lane: int) -> int:
    """Return the stamp with which a packet leaves on a lane."""


@inner
def _stamped_ib(switches: Any, header: int, stamp: int) -> Any:  # noqa: ARG001 - chosen by its type
    return on_lane(header, stamp)


@inner
def _stamped_opa(switches: Any, header: int, stamp: int) -> Any:  # noqa: ARG001 - chosen by its type
    return on_channel(header, stamp)


@by_type({IBSwitches: _stamped_ib, OPASwitches: _stamped_opa})
def stamped(switches: Any, header: int, stamp: int) -> Any:
    """Return a header with its stamp, an unsigned number."""


@inner
def _count_nothing(switches: Any, around: Surroundings, count: int, rules: NDArray[np.int64]) -> None:
    """No rules of its own."""


@by_type({IBSwitches: _count_nothing, OPASwitches: rows_opa_switch.count_kinds})
def count_kinds(switches: Any, around: Surroundings, count: int, rules: NDArray[np.int64]) -> None:
    """Count the grants of a cycle under the kind's own rules."""


@by_type({IBSwitches: rows_ib_switch.draw_map, OPASwitches: rows_opa_switch.draw_map})
def draw_map(switches: Any, around: Surroundings, slot: int, bits: NDArray[np.uint64]) -> None:
    """Draw a write of the map from levels or channels to lanes."""


@by_type({IBSwitches: rows_ib_switch.apply_map, OPASwitches: rows_opa_switch.apply_map})
def apply_map(switches: Any, around: Surroundings, slot: int) -> None:
    """Let golden's map hold what was written."""


@by_type({IBSwitches: rows_ib_switch.show_map, OPASwitches: rows_opa_switch.show_map})
def show_map(
    switches: Any, around: Surroundings, slot: int, rows: NDArray[np.uint64], row: int, ins: NDArray[np.int64],
    first: int,
) -> None:  # fmt: skip
    """Write it to the program port, whose first input is number ``first``."""
