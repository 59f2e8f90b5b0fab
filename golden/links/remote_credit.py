"""Credits of a sender for the remote buffer, updated by credit returns or by flow-control packets.

The type of the credits selects the scheme: ``BufferOccupancy`` for returns, ``LateCredits`` for returns to switches
that decide late, ``FCPLimits`` for flow-control packets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.links import fcp_limits as limits
from vlane.golden.links import late_room as late
from vlane.golden.links import room
from vlane.golden.links.fcp_limits import FCPLimits
from vlane.golden.links.late_room import LateCredits
from vlane.golden.links.room import BufferOccupancy

RemoteCredit = BufferOccupancy | LateCredits | FCPLimits


@inner
def _blocks_in_use_of_buffers(rooms: BufferOccupancy, link_end: int, lane: int) -> int:
    return int(rooms.lane[link_end, lane].blocks)


@inner
def _period_of_limits(limits: FCPLimits) -> int:
    return limits.fcp_period


@inner
def _no_fcps_sent(rooms: BufferOccupancy) -> NDArray[np.int64]:
    return np.zeros((len(rooms.lane), rooms.lane.shape[1]), np.int64)


@inner
def _fcps_sent_of_limits(limits: FCPLimits) -> NDArray[np.int64]:
    return limits.fcps


@inner
def _peak_of_buffers(rooms: BufferOccupancy) -> NDArray[np.int64]:
    return rooms.lane["most_blocks"]


@inner
def _peak_of_limits(limits: FCPLimits) -> NDArray[np.int64]:
    return limits.most_used


@by_type({FCPLimits: _period_of_limits}, default=True)
def fcp_period(remote_credit: Any) -> int:
    """Return the period of FCPs in cycles. The period is 0 with credit returns, which need no FCPs."""
    return 0


@by_type({FCPLimits: limits.uses_sideband}, default=True)
def uses_sideband(remote_credit: Any) -> bool:
    """Return whether flow-control packets travel on a sideband, so that they take no link cycles."""
    return False


@by_type({BufferOccupancy: room.fits, LateCredits: late.fits, FCPLimits: limits.has_credit})
def has_credit(remote_credit: Any, link_end: int, lane: int, blocks: int) -> bool:
    """Return whether there is credit for a packet of ``blocks`` blocks."""


@by_type({BufferOccupancy: room.missing_blocks}, default=True)
def missing_blocks(remote_credit: Any, link_end: int, lane: int, blocks: int) -> int:
    """Return a lower bound of the blocks that must be freed before a packet has credit, 0 if unknown."""
    return 0


@by_type({BufferOccupancy: room.occupy, LateCredits: late.consume_credit, FCPLimits: limits.count_sent})
def consume_credit(remote_credit: Any, link_end: int, lane: int, blocks: int) -> None:
    """Consume credit for a packet that starts."""


@by_type({BufferOccupancy: _blocks_in_use_of_buffers, LateCredits: late.blocks_in_use, FCPLimits: limits.blocks_in_use})
def blocks_in_use(remote_credit: Any, link_end: int, lane: int) -> int:
    """Return the blocks of a VL in use in the remote buffer, as known to the sender."""


@by_type({BufferOccupancy: room.release, LateCredits: late.return_credit, FCPLimits: limits.count_freed})
def count_freed_blocks(remote_credit: Any, link_end: int, lane: int, blocks: int) -> None:
    """Count freed blocks.

    With credit returns these are blocks of the remote buffer; with FCPs, of the port's own input buffer.
    """


@by_type({LateCredits: late.begin_decision, FCPLimits: limits.receive_fcps}, default=True)
def begin_decision(remote_credit: Any, link_end: int, cycle: int) -> None:
    """Bring a sender's credits up to date for a decision in ``cycle``.

    With FCPs, apply the limits that are valid by then; with late decisions, store the cycle.
    """


@inner
def _decides_late(remote_credit: LateCredits) -> bool:
    return True


@by_type({LateCredits: _decides_late}, default=True)
def decides_late(remote_credit: Any) -> bool:
    """Return whether switches decide from credits some cycles old."""
    return False


@by_type({LateCredits: late.credit_lag}, default=True)
def credit_lag(remote_credit: Any, link_end: int) -> int:
    """Return the delay in cycles with which a sender counts returned credits."""
    return 0


@by_type({BufferOccupancy: _no_fcps_sent, LateCredits: late.no_fcps_sent, FCPLimits: _fcps_sent_of_limits})
def fcps_sent(remote_credit: Any) -> NDArray[np.int64]:
    """Return the number of flow-control packets sent, by port and VL."""


@by_type({BufferOccupancy: _peak_of_buffers, LateCredits: late.peak_blocks_in_use, FCPLimits: _peak_of_limits})
def peak_blocks_in_use(remote_credit: Any) -> NDArray[np.int64]:
    """Return the peak number of blocks in use in the remote buffers, by port and VL, as known to the senders."""


@by_type({FCPLimits: limits.drop_fcps}, default=True)
def drop_fcps(remote_credit: Any, link_end: int, end_cycle: int) -> None:
    """Mark the flow-control packets that a port sends before a cycle as lost."""


@by_type({FCPLimits: limits.is_fcp_due}, default=True)
def fcp_due(remote_credit: Any, link_end: int, cycle: int) -> bool:
    """Return whether an FCP of any VL is due in a cycle."""
    return False


@by_type({FCPLimits: limits.send_fcp}, default=True)
def send_fcp(remote_credit: Any, link_end: int, receiving_end: int, cycle: int, flight: int) -> None:
    """Send the next due FCP."""


@by_type({BufferOccupancy: room.prefetch_occupancy}, default=True)
def prefetch_credit(remote_credit: Any, link_end: int) -> None:
    """Prefetch the credits of a sender. There is no prefetch for flow-control packets."""
