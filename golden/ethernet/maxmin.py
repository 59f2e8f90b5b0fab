"""Max-min fair rates: every flow receives its demand, or crosses a full link on which no flow receives more.

The algorithm is progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2), with demands.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from vlane.errors import InputError

F = TypeVar("F", bound=Hashable)
L = TypeVar("L", bound=Hashable)
_CLOSE = 1e-9


def max_min(paths: Mapping[F, Sequence[L]], capacity: Mapping[L, float], demand: Mapping[F, float]) -> dict[F, float]:
    """Return the max-min fair rate of every flow.

    Parameters
    ----------
    paths : mapping of flow to sequence
        Links on the path of each flow.
    capacity : mapping of link to float
        Capacity of each link, in the unit of the demands.
    demand : mapping of flow to float
        Demand of each flow.

    Raises
    ------
    InputError
        If a capacity or a demand is negative.

    Examples
    --------
    >>> max_min({"a": ["x"], "b": ["x", "y"], "c": ["y"]}, {"x": 10, "y": 3}, {"a": 10, "b": 10, "c": 1})
    {'c': 1.0, 'b': 2.0, 'a': 8.0}
    """
    for name, values in (("capacity", capacity.values()), ("demand", demand.values())):
        if min(values, default=0) < 0:
            raise InputError(name, "0 or more", min(values))
    rates: dict[F, float] = {}
    left = {link: float(capacity[link]) for path in paths.values() for link in path}
    rising = dict.fromkeys(paths)
    while rising:
        users: dict[L, int] = {}
        for flow in rising:
            for link in set(paths[flow]):
                users[link] = users.get(link, 0) + 1
        share = {link: left[link] / count for link, count in users.items()}
        level = min(*share.values(), *(demand[flow] for flow in rising), float("inf"))
        full = {link for link, each in share.items() if each <= level * (1 + _CLOSE)}
        done = [flow for flow in rising if demand[flow] <= level * (1 + _CLOSE) or full & set(paths[flow])]
        for flow in done:
            rates[flow] = float(min(level, demand[flow]))
            for link in set(paths[flow]):
                left[link] = max(left[link] - rates[flow], 0.0)
            del rising[flow]
    return rates
