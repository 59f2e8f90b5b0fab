"""Request queues: first packets of input queues that wait for an output or an (output, VL) (IBS-Q1, IBS-PQ1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.switches.packets import NOBODY


class Requests(NamedTuple):
    """Request queues of all switches.

    A request is identified by its (input port, VL), as port * lanes + VL. Each (input port, VL) has at most one
    request.

    Parameters
    ----------
    requested_lanes : array of int64, (all ports,)
        Bit mask of an input's VLs whose first packet has a queued request.
    first, last : array of int64, (queues,)
        First and last request of each queue; -1 if the queue is empty.
    next_request : array of int64, (all ports * lanes,)
        Next request in the same queue; -1 for none.
    """

    requested_lanes: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    next_request: NDArray[np.int64]


def new_requests(*, ports: int, lanes: int, queues: int) -> Requests:
    """Return ``queues`` empty request queues."""
    return Requests(
        requested_lanes=np.zeros(ports, np.int64),
        first=np.full(queues, NOBODY, np.int64),
        last=np.full(queues, NOBODY, np.int64),
        next_request=np.full(ports * lanes, NOBODY, np.int64),
    )


@inner
def append_request(requests: Requests, queue: int, request: int) -> None:
    """Append a request to a queue."""
    requests.next_request[request] = NOBODY
    if requests.first[queue] == NOBODY:
        requests.first[queue] = request
    else:
        requests.next_request[requests.last[queue]] = request
    requests.last[queue] = request


@inner
def remove_request(requests: Requests, queue: int, request: int, predecessor: int) -> None:
    """Remove a request from a queue. ``predecessor`` is the preceding request, -1 for none."""
    next_request = requests.next_request[request]
    if predecessor == NOBODY:
        requests.first[queue] = next_request
    else:
        requests.next_request[predecessor] = next_request
    if next_request == NOBODY:
        requests.last[queue] = predecessor
