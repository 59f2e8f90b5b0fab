"""Queues of requests: first packets of inputs that wait for an output, or for a VL of it (IBS-Q1, IBS-PQ1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.switches.packets import NOBODY


class Requests(NamedTuple):
    """Requests of all switches, and the queues that they are in.

    A request is named by its (input port, VL), port * lanes + VL: there is at most one of each.

    Parameters
    ----------
    asked : array of int64, (all ports,)
        VLs of an input whose first packet has its request in a queue, as bits.
    first, last : array of int64, (queues,)
        First and last request of a queue; -1 if it is empty.
    behind : array of int64, (all ports * lanes,)
        The request behind one in its queue, -1 for none.
    """

    asked: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    behind: NDArray[np.int64]


def new_requests(*, ports: int, lanes: int, queues: int) -> Requests:
    """Return so many queues, empty."""
    return Requests(
        asked=np.zeros(ports, np.int64),
        first=np.full(queues, NOBODY, np.int64),
        last=np.full(queues, NOBODY, np.int64),
        behind=np.full(ports * lanes, NOBODY, np.int64),
    )


@inner
def join(requests: Requests, queue: int, request: int) -> None:
    """Put a request at the end of a queue."""
    requests.behind[request] = NOBODY
    if requests.first[queue] == NOBODY:
        requests.first[queue] = request
    else:
        requests.behind[requests.last[queue]] = request
    requests.last[queue] = request


@inner
def leave(requests: Requests, queue: int, request: int, before: int) -> None:
    """Take a request out of a queue; ``before`` is the one in front of it, -1 for none."""
    next_request = requests.behind[request]
    if before == NOBODY:
        requests.first[queue] = next_request
    else:
        requests.behind[before] = next_request
    if next_request == NOBODY:
        requests.last[queue] = before
