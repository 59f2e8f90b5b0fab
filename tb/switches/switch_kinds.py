"""Functions of a switch's rows that depend on its kind, dispatched on the type of golden's state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.links.room import fits
from vlane.golden.switches.fast_switch import FastSwitches
from vlane.golden.switches.ib_switch import FasterIBSwitches
from vlane.golden.switches.kinds import INFINIBAND_SWITCHES
from vlane.golden.switches.opa_switch import OPASwitches
from vlane.golden.switches.packets import Packet
from vlane.tb.switches.ib_switch import rows as rows_ib_switch
from vlane.tb.switches.opa_switch import rows as rows_opa_switch
from vlane.tb.switches.switch_environment import SwitchEnvironment


@by_type({**dict.fromkeys(INFINIBAND_SWITCHES, rows_ib_switch.lane_numbers), OPASwitches: rows_opa_switch.lane_numbers})
def lane_numbers(switches: Any) -> int:
    """Return how many lanes a link can name."""


@by_type({**dict.fromkeys(INFINIBAND_SWITCHES, rows_ib_switch.draw_packet), OPASwitches: rows_opa_switch.draw_packet})
def draw_packet(switches: Any, lane: int, rng: NDArray[np.uint64]) -> tuple[int, int, int, int]:
    """Draw a packet. Return the mask of header bits that pass through, the SL, the channel, and the stamp."""


@by_type(
    {**dict.fromkeys(INFINIBAND_SWITCHES, rows_ib_switch.outgoing_vl), OPASwitches: rows_opa_switch.outgoing_channel}
)
def outgoing_channel_field(switches: Any, field: Packet, lane: int) -> int:
    """Return the stamp with which a packet leaves on a lane."""


@by_type({**dict.fromkeys(INFINIBAND_SWITCHES, rows_ib_switch.with_vl), OPASwitches: rows_opa_switch.with_channel})
def with_channel_field(switches: Any, header: int, stamp: int) -> Any:
    """Return a header with its stamp, as an unsigned number."""


@by_type(
    {
        **dict.fromkeys(INFINIBAND_SWITCHES, rows_ib_switch.count_no_grant_rules),
        FasterIBSwitches: rows_ib_switch.count_two_flit_grants,
        FastSwitches: rows_ib_switch.count_bid_rules,
        OPASwitches: rows_opa_switch.count_central_grants,
    }
)
def count_grant_rules(
    switches: Any, environment: SwitchEnvironment, count: int, rule_counts: NDArray[np.int64]
) -> None:
    """Count the grants of a cycle under the rules of the kind."""


@by_type({FastSwitches: rows_ib_switch.fast_drop_delay}, default=True)
def drop_delay(switches: Any) -> int:
    """Return by how many cycles a drop is reported later than two cycles after the head."""
    return 0


@by_type({FastSwitches: rows_ib_switch.note_full}, default=True)
def note_full(switches: Any, environment: SwitchEnvironment, cycle: int) -> None:
    """Note which lanes of the inputs hold their maximum, if packets are accepted by a state of the past."""


@inner
def _fits_now(switches: Any, environment: SwitchEnvironment, port: int, lane: int, blocks: int, cycle: int) -> bool:
    return fits(environment.input_buffers, port, lane, blocks)


@by_type({**dict.fromkeys((*INFINIBAND_SWITCHES, OPASwitches), _fits_now), FastSwitches: rows_ib_switch.was_not_full})
def has_space(switches: Any, environment: SwitchEnvironment, port: int, lane: int, blocks: int, cycle: int) -> bool:
    """Return whether an input accepts a packet of this size on a lane."""


@by_type({**dict.fromkeys(INFINIBAND_SWITCHES, rows_ib_switch.draw_map), OPASwitches: rows_opa_switch.draw_map})
def draw_map(switches: Any, environment: SwitchEnvironment, slot: int, rng: NDArray[np.uint64]) -> None:
    """Draw a write of the map from levels or channels to lanes."""


@by_type({**dict.fromkeys(INFINIBAND_SWITCHES, rows_ib_switch.apply_map), OPASwitches: rows_opa_switch.apply_map})
def apply_map(switches: Any, environment: SwitchEnvironment, slot: int) -> None:
    """Apply a map write to golden's map."""


@by_type(
    {
        **dict.fromkeys(INFINIBAND_SWITCHES, rows_ib_switch.write_sl2vl_inputs),
        OPASwitches: rows_opa_switch.write_map_inputs,
    }
)
def write_map_inputs(
    switches: Any,
    environment: SwitchEnvironment,
    slot: int,
    rows: NDArray[np.uint64],
    row: int,
    input_fields: NDArray[np.int64],
    first_port: int,
    is_enabled: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> None:
    """Write a map write to the program port, whose first input has the index ``first_port``."""
