"""Log of inputs and decisions of chosen blocks of an Ethernet network, for replay on hardware."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner

JOINED, LEFT, ASKED, HEARD = range(4)
_VALUES = 11


class Log(NamedTuple):
    """Log of block inputs and decisions, in the order of cycles.

    Parameters
    ----------
    point : array of int64
        Whether the congestion point of each channel is logged.
    node : array of int64
        Whether the reaction point of each node is logged.
    entry : array of int64, (entries, 11)
        Cycle, kind of event, block, four inputs and four decisions:

        * joined: bytes, managed, tagged, tag; sampled, sends, stop, feedback
        * left: bytes
        * asked: flow, bytes; may, limited, rate, tag
        * heard: flow, notice, CPID, feedback; 0, limited, rate, tag
    used : array of int64, (1,)
        Number of entries made, including those beyond the log's capacity.
    """

    point: NDArray[np.int64]
    node: NDArray[np.int64]
    entry: NDArray[np.int64]
    used: NDArray[np.int64]


def new_log(channels: int, nodes: int, points: Sequence[int], sources: Sequence[int], *, room: int) -> Log:
    """Return a log of the congestion points of given channels and the reaction points of given nodes."""
    made = Log(
        np.zeros(channels, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros((room, _VALUES), np.int64),
        np.zeros(1, np.int64),
    )
    made.point[list(points)] = 1
    made.node[list(sources)] = 1
    return made


@inner
def log_entry(
    log: Log, cycle: int, kind: int, owner: int, inputs: tuple[int, int, int, int], outputs: tuple[int, int, int, int]
) -> None:
    """Append an entry. Entries beyond the log's capacity are counted but not stored."""
    at = log.used[0]
    log.used[0] = at + 1
    if at >= log.entry.shape[0]:
        return
    entry = log.entry[at]
    entry[0], entry[1], entry[2] = cycle, kind, owner
    entry[3], entry[4], entry[5], entry[6] = inputs
    entry[7], entry[8], entry[9], entry[10] = outputs
