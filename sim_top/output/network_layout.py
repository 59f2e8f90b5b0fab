"""Positions of a network's switches and hosts in a drawing: by level, on a grid, or by springs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.float64]

_SWEEPS = 4
_PRINCIPAL_STEPS = 60
_MOST_SPRUNG = 1500
"""Largest number of switches for the spring layout; larger networks are drawn as a circle."""


@dataclass(frozen=True)
class Layout:
    """Positions on a sheet.

    Parameters
    ----------
    width, height : float
        Size of the sheet.
    switches : array of float, (switches, 2)
        Position (x, y) of each switch.
    hosts : array of float, (hosts, 2)
        Position of each host; without rows if hosts are not drawn.
    by_level : bool
        Whether hosts have a row of their own.
    """

    width: float
    height: float
    switches: Places
    hosts: Places
    by_level: bool = False


def layered(switches: int, cables: Sequence[tuple[int, int]], hosts: Sequence[int]) -> list[int] | None:
    """Return each switch's level, 0 with hosts, or ``None`` unless every cable joins adjacent levels."""
    near: list[set[int]] = [set() for _ in range(switches)]
    for one, other in cables:
        near[one].add(other)
        near[other].add(one)
    levels, layer, level = [-1] * switches, sorted(set(hosts)), 0
    while layer:
        for switch in layer:
            levels[switch] = level
        layer = sorted({other for switch in layer for other in near[switch] if levels[other] < 0})
        level += 1
    is_layered = len(cables) > 0 and all(abs(levels[one] - levels[other]) == 1 for one, other in cables)
    return levels if is_layered and min(levels) >= 0 else None


def level_layout(
    levels: Sequence[int], cables: Sequence[tuple[int, int]], hosts: Sequence[int], *, with_hosts: bool
) -> Layout:
    """Return switches in rows by level with hosts below. Rows are sorted to reduce crossings."""
    switches, top = len(levels), max(levels)
    rows = [[switch for switch in range(switches) if levels[switch] == level] for level in range(top + 1)]
    place = np.zeros(switches)
    for row in rows:
        _spread(row, place)
    near: list[list[int]] = [[] for _ in range(switches)]
    for one, other in cables:
        near[one].append(other)
        near[other].append(one)
    if len({*map(len, rows)}) > 1:  # trees with equal rows are clearest in numerical order
        for _ in range(_SWEEPS):
            for level, row in enumerate(rows[1:], start=1):
                row.sort(key=lambda switch: _mean([place[it] for it in near[switch] if levels[it] == level - 1]))
                _spread(row, place)
    widest = max([*map(len, rows), len(hosts) / 2 if with_hosts else 0])
    width = min(2400.0, max(900.0, 44.0 * widest))
    step = max(130.0, width / 7 / max(top, 1))
    height = 60 + step * top + (90 if with_hosts else 30)
    y = height - (90 if with_hosts else 30) - step * np.asarray(levels, float)
    at = np.stack([30 + place * (width - 60), y], axis=1)
    below = _below(at, hosts, width, height) if with_hosts else np.zeros((0, 2))
    return Layout(width, height, at, below, by_level=True)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.5


def _spread(row: Sequence[int], place: Places) -> None:
    for number, switch in enumerate(row):
        place[switch] = (number + 0.5) / len(row)


def _below(at: Places, hosts: Sequence[int], width: float, height: float) -> Places:
    """Return hosts in one row, in the order of their switches."""
    order = sorted(range(len(hosts)), key=lambda host: (at[hosts[host], 0], hosts[host], host))
    made = np.zeros((len(hosts), 2))
    for number, host in enumerate(order):
        made[host] = (30 + (number + 0.5) / len(hosts) * (width - 60), height - 25)
    return made


def grid_layout(size: Sequence[int], hosts: Sequence[int], *, with_hosts: bool) -> Layout:
    """Return the layout of a torus: two dimensions as a grid, further dimensions as shifted planes."""
    columns, rows = size[0], size[1] if len(size) > 1 else 1
    planes = math.prod(size[2:])
    cell = max(40.0, min(110.0, 1500 / columns))
    shift = 0.8 * cell / planes
    at = np.zeros((columns * rows * planes, 2))
    for switch in range(len(at)):
        x, y, plane = switch % columns, switch // columns % rows, switch // (columns * rows)
        at[switch] = (x + 0.9) * cell + plane * shift, (y + 0.9) * cell + plane * 0.8 * shift
    if rows == planes == 1:
        turn = 2 * np.pi * np.arange(columns) / columns - np.pi / 2
        radius = max(110.0, columns * 9.0)
        at = radius + 60 + radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    width, height = at.max(axis=0) + 0.9 * cell
    is_ring = rows == planes == 1
    around = _around(at, hosts, 0.36 * cell, None if is_ring else np.pi / 4) if with_hosts else np.zeros((0, 2))
    return Layout(float(width), float(height), at, around)


def spring_layout(
    switches: int, cables: Sequence[tuple[int, int]], hosts: Sequence[int], *, with_hosts: bool
) -> Layout:
    """Return a deterministic layout with springs along the cables and repulsion between all switches."""
    side = max(520.0, min(1600.0, 110 * math.sqrt(switches)))
    turn = 2 * np.pi * np.arange(switches) / max(switches, 1)
    at = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    if 2 < switches <= _MOST_SPRUNG:
        at = _sprung(at, {(min(cable), max(cable)) for cable in cables if cable[0] != cable[1]})
    elif switches == 1:
        at = np.zeros((1, 2))
    elif switches == 2:
        at = np.array([[-1.0, 0.0], [1.0, 0.0]])
    low, high = at.min(axis=0), at.max(axis=0)
    margin, height = 70.0, side if switches > 2 else 240.0
    size = np.array([side - 2 * margin, height - 2 * margin])
    at = margin + (at - low) / np.where(high > low, high - low, 1) * size
    if switches <= 2:
        at[:, 1] = height / 2
    nearest = side / max(2.0, 3.2 * math.sqrt(switches))
    return Layout(side, height, at, _around(at, hosts, min(0.55 * nearest, 60)) if with_hosts else np.zeros((0, 2)))


def _sprung(at: Places, cables: set[tuple[int, int]]) -> Places:
    """Return positions of least stress, by majorisation (Gansner, Koren and North, Graph Drawing 2004).

    Distances on the sheet approximate path lengths, as with Kamada and Kawai; networkx' implementation needs SciPy.
    """
    count, distance = len(at), _distances(len(at), cables)
    weight = 1 / np.maximum(distance, 1) ** 2
    np.fill_diagonal(weight, 0)
    whole = weight.sum(axis=1, keepdims=True)
    at = _principal(distance, at) + 1e-3 * at
    for _ in range(100 if count <= 300 else 12):
        gap = at[:, None, :] - at[None, :, :]
        length = np.maximum(np.sqrt((gap**2).sum(axis=2)), 1e-9)
        pull = weight * distance / length
        at = (weight @ at + pull.sum(axis=1, keepdims=True) * at - pull @ at) / whole
    return at


def _distances(count: int, cables: set[tuple[int, int]]) -> Places:
    """Return path lengths between switches. Unconnected pairs have one more than the largest length."""
    joined = np.zeros((count, count), np.float32)
    for one, other in cables:
        joined[one, other] = joined[other, one] = 1
    distance = np.full((count, count), np.inf)
    np.fill_diagonal(distance, 0)
    reached, steps = np.eye(count, dtype=np.float32), 0
    while True:
        steps += 1
        reached = np.minimum(reached @ joined, 1)
        fresh = (reached > 0) & np.isinf(distance)
        if not fresh.any():
            break
        distance[fresh] = steps
    distance[np.isinf(distance)] = steps
    return distance


def _principal(distance: Places, begin: Places) -> Places:
    """Return the two principal coordinates of distances (classical scaling), the start of the descent."""
    squared = distance**2
    centred = -0.5 * (squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True) + squared.mean())
    vectors = begin
    for _ in range(_PRINCIPAL_STEPS):
        vectors = np.linalg.qr(centred @ vectors)[0]
    lengths = np.sqrt(np.maximum(np.einsum("ij,ij->j", vectors, centred @ vectors), 1e-9))
    made: Places = vectors * lengths
    return made


def _around(at: Places, hosts: Sequence[int], radius: float, direction: float | None = None) -> Places:
    """Return hosts around their switches, in a given direction or away from the centre of the sheet."""
    if not len(hosts):
        return np.zeros((0, 2))
    middle, each = at.mean(axis=0), Counter(hosts)
    seen: Counter[int] = Counter()
    made = np.zeros((len(hosts), 2))
    for host, switch in enumerate(hosts):
        away = at[switch] - middle
        start = math.atan2(away[1], away[0]) if np.hypot(*away) > 1 else -math.pi / 2
        start = start if direction is None else direction
        spread = min(2 * math.pi * (1 - 1 / max(each[switch], 2)), 0.42 * max(each[switch] - 1, 0))
        turn = start - spread / 2 + (spread * seen[switch] / max(each[switch] - 1, 1))
        made[host] = at[switch] + radius * np.array([math.cos(turn), math.sin(turn)])
        seen[switch] += 1
    return made
