"""What a sender knows of the buffer at the far end, told by returns or by flow-control packets."""

from __future__ import annotations

from typing import Any

from vlane.golden import limits, room
from vlane.golden.kernel import by_type, inner
from vlane.golden.limits import Limits
from vlane.golden.room import Rooms

__all__ = ["FarRoom", "came_free", "fcp_due", "fcp_period", "goes_beside", "hear", "say", "still_fits", "take", "taken"]

FarRoom = Rooms | Limits


@inner
def _taken_of_room(rooms: Rooms, end: int, lane: int) -> int:
    return int(rooms.taken[end, lane].blocks)


@inner
def _nothing_to_hear(rooms: Rooms, end: int, cycle: int) -> None:
    """Do nothing: returns are counted as they come."""


@inner
def _nothing_to_say(rooms: Rooms, end: int, to: int, cycle: int, flight: int) -> None:
    """Do nothing: returns need no packets."""


@inner
def _never(rooms: Rooms, end: int, cycle: int) -> bool:  # noqa: ARG001 - as the other's
    return False


@inner
def _no(rooms: Rooms) -> bool:  # noqa: ARG001 - as the other's
    return False


@inner
def _no_period(rooms: Rooms) -> int:  # noqa: ARG001 - as the other's
    return 0


@inner
def _period(limits: Limits) -> int:
    return limits.period


@by_type({Rooms: _no_period, Limits: _period})
def fcp_period(far: Any) -> int:
    """Return the cycles after which FCPs are due at every end, 0 if there are none at all."""


@by_type({Rooms: _no, Limits: limits.goes_beside})
def goes_beside(far: Any) -> bool:
    """Tell whether flow-control packets travel beside the link."""


@by_type({Rooms: room.fits, Limits: limits.allows})
def still_fits(far: Any, end: int, lane: int, blocks: int) -> bool:
    """Tell whether a packet of so many blocks may be sent."""


@by_type({Rooms: room.take, Limits: limits.count_sent})
def take(far: Any, end: int, lane: int, blocks: int) -> None:
    """Take room for a packet that is started."""


@by_type({Rooms: _taken_of_room, Limits: limits.taken})
def taken(far: Any, end: int, lane: int) -> int:
    """Return the blocks of a lane that may be in use, as the sender knows it."""


@by_type({Rooms: room.give_back, Limits: limits.count_freed})
def came_free(far: Any, end: int, lane: int, blocks: int) -> None:
    """Count blocks that came free: of the far buffer, or, told by FCPs, of the own one."""


@by_type({Rooms: _nothing_to_hear, Limits: limits.hear})
def hear(far: Any, end: int, cycle: int) -> None:
    """Take over what FCPs say that hold by a cycle."""


@by_type({Rooms: _never, Limits: limits.is_due})
def fcp_due(far: Any, end: int, cycle: int) -> bool:
    """Tell whether some FCP is due in a cycle."""


@by_type({Rooms: _nothing_to_say, Limits: limits.say})
def say(far: Any, end: int, to: int, cycle: int, flight: int) -> None:
    """Send an FCP that is due."""
