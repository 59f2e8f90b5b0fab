"""Credits of a sender for the remote buffer, updated by credit returns or by flow-control packets.

The type of the credits selects the scheme: ``Rooms`` for returns, ``LateRooms`` for returns to switches that decide
late, ``FCPLimits`` for flow-control packets.
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
from vlane.golden.links.late_room import LateRooms
from vlane.golden.links.room import Rooms

RemoteCredit = Rooms | LateRooms | FCPLimits


@inner
def _taken_of_room(rooms: Rooms, end: int, lane: int) -> int:
    return int(rooms.taken[end, lane].blocks)


@inner
def _period(limits: FCPLimits) -> int:
    return limits.period


@inner
def _none_sent(rooms: Rooms) -> NDArray[np.int64]:
    return np.zeros((len(rooms.taken), rooms.taken.shape[1]), np.int64)


@inner
def _sent(limits: FCPLimits) -> NDArray[np.int64]:
    return limits.fcps


@inner
def _most_of_rooms(rooms: Rooms) -> NDArray[np.int64]:
    return rooms.taken["most"]


@inner
def _most_of_limits(limits: FCPLimits) -> NDArray[np.int64]:
    return limits.most


@by_type({FCPLimits: _period}, default=True)
def fcp_period(remote: Any) -> int:
    """Return the period of FCPs in cycles.

    The period is 0 with credit returns, which need no FCPs.
    """
    return 0


@by_type({FCPLimits: limits.uses_sideband}, default=True)
def uses_sideband(remote: Any) -> bool:
    """Return whether flow-control packets use a sideband instead of the link."""
    return False


@by_type({Rooms: room.fits, LateRooms: late.fits, FCPLimits: limits.allows})
def still_fits(remote: Any, end: int, lane: int, blocks: int) -> bool:
    """Return whether there is credit for a packet of ``blocks`` blocks."""


@by_type({Rooms: room.missing}, default=True)
def missing(remote: Any, end: int, lane: int, blocks: int) -> int:
    """Return a lower bound of the blocks that must become free before a packet has credit, or 0 if none is known."""
    return 0


@by_type({Rooms: room.take, LateRooms: late.take, FCPLimits: limits.count_sent})
def take(remote: Any, end: int, lane: int, blocks: int) -> None:
    """Consume credit for a packet that starts."""


@by_type({Rooms: _taken_of_room, LateRooms: late.taken, FCPLimits: limits.taken})
def taken(remote: Any, end: int, lane: int) -> int:
    """Return the blocks of a VL in use in the remote buffer, as known to the sender."""


@by_type({Rooms: room.give_back, LateRooms: late.give_back, FCPLimits: limits.count_freed})
def came_free(remote: Any, end: int, lane: int, blocks: int) -> None:
    """Count freed blocks: in the remote buffer with returns, in the port's own input buffer with FCPs."""


@by_type({LateRooms: late.begin_decision, FCPLimits: limits.receive_fcps}, default=True)
def begin_decision(remote: Any, end: int, cycle: int) -> None:
    """Apply the limits of the FCPs that are valid in a cycle, or note the cycle for late decisions."""


@inner
def _is_late(remote: LateRooms) -> bool:
    return True


@by_type({LateRooms: _is_late}, default=True)
def is_late(remote: Any) -> bool:
    """Return whether switches decide from state some cycles old."""
    return False


@by_type({LateRooms: late.lateness}, default=True)
def lateness(remote: Any, end: int) -> int:
    """Return by how many cycles a sender counts returns later than an exact sender."""
    return 0


@by_type({Rooms: _none_sent, LateRooms: late.none_sent, FCPLimits: _sent})
def fcps_sent(remote: Any) -> NDArray[np.int64]:
    """Return the number of flow-control packets sent, by port and VL."""


@by_type({Rooms: _most_of_rooms, LateRooms: late.most_taken, FCPLimits: _most_of_limits})
def most_taken(remote: Any) -> NDArray[np.int64]:
    """Return the maximum number of blocks in use in the remote buffers, as known to the senders, by port and VL."""


@by_type({FCPLimits: limits.drop_fcps}, default=True)
def drop_fcps(remote: Any, end: int, until: int) -> None:
    """Mark the flow-control packets that a port sends before a cycle as lost."""


@by_type({FCPLimits: limits.is_due}, default=True)
def fcp_due(remote: Any, end: int, cycle: int) -> bool:
    """Return whether an FCP of any VL is due in a cycle."""
    return False


@by_type({FCPLimits: limits.send_fcp}, default=True)
def send_fcp(remote: Any, end: int, to: int, cycle: int, flight: int) -> None:
    """Send the next due FCP."""


@by_type({Rooms: room.load_rooms}, default=True)
def load_remote(remote: Any, end: int) -> None:
    """Prefetch the credits of a sender.

    There is no prefetch for flow-control packets.
    """
