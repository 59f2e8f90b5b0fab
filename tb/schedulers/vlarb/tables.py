"""Arbitration tables drawn to reach the corners of the rules."""

from __future__ import annotations

import random

from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, VL15, VLArbEntry, VLArbTable

_LIMITS = (0, 1, 2, 16, 253, 254, 255)
_NEAR = tuple(sorted({weight ^ 1 << bit for weight in (1, 2) for bit in range(8)} - {0}))
"""Weights one bit away from 1 and 2, which arbiters with look-ahead distinguish from others."""
_WEIGHTS = (0, 1, 2, 32, 33, 64, 65, 66, 254, 255)


def random_tables(count: int, *, data_vls: int, entries: int, seed: int) -> tuple[VLArbTable, ...]:
    """Return tables of every kind: full, short, sparse, empty, with absent lanes, with every limit.

    Parameters
    ----------
    count : int
        Number of tables.
    data_vls, entries : int
        Parameters of the arbiter.
    seed : int
        Seed; equal seeds give equal tables.
    """
    source = random.Random(f"{seed} {data_vls} {entries}")  # noqa: S311 - stimulus, not secrets
    return tuple(_random_table(source, data_vls, entries) for _ in range(count))


def limit_tables(*, data_vls: int, entries: int) -> tuple[VLArbTable, ...]:
    """Return tables that differ only in the limit: every single bit set, and every single bit cleared.

    The high list has a single lane, the low list all lanes; the limit decides which list sends.
    """
    low = tuple(VLArbEntry(index % data_vls, 64) for index in range(min(entries, data_vls)))
    bits = [1 << bit for bit in range(8)]
    limits = (0, *bits, *(LIMIT_UNBOUNDED ^ bit for bit in bits), LIMIT_UNBOUNDED)
    return tuple(VLArbTable((VLArbEntry(0, 255),), low, limit) for limit in limits)


def weight_tables(*, data_vls: int, entries: int) -> tuple[VLArbTable, ...]:
    """Return tables in which each entry is once the only entry of its lane, with every single bit of a weight.

    The remaining entries name VL15: stored, skipped and counted as bad. In the first table all entries of both
    lists do. Then follow tables in which each lane once has each weight one bit away from 1 or 2.
    """
    nobody = (VLArbEntry(VL15, 255),) * entries
    tables = [VLArbTable(nobody, nobody, 0)]
    for bit in range(8):
        for first in range(0, entries, data_vls):
            listed = [VLArbEntry(VL15, 255)] * entries
            for index in range(first, min(first + data_vls, entries)):
                listed[index] = VLArbEntry(index - first, 1 << bit)
            tables += [VLArbTable(tuple(listed), (), 0), VLArbTable((), tuple(listed), 0)]
    together = min(entries, data_vls)
    for first in range(0, len(_NEAR), together):
        near = tuple(VLArbEntry(lane, weight) for lane, weight in enumerate(_NEAR[first : first + together]))
        tables += [VLArbTable(near, (), 0), VLArbTable((), near, 0)]
    return tuple(tables)


def _random_table(source: random.Random, data_vls: int, entries: int) -> VLArbTable:
    high, low = (_random_list(source, data_vls, entries) for _ in range(2))
    limit = source.choice(_LIMITS) if source.random() < 0.75 else source.randrange(256)
    return VLArbTable(high, low, limit)


def _random_list(source: random.Random, data_vls: int, entries: int) -> tuple[VLArbEntry, ...]:
    kind = source.choices(("full", "short", "single", "empty", "zero", "sparse", "light"), (6, 4, 1, 1, 1, 2, 3))[0]
    if kind == "empty":
        return ()
    length = {"short": source.randint(1, entries), "single": 1}.get(kind, entries)
    lanes = source.choice((data_vls, min(2, data_vls), 16))
    chosen = []
    for _ in range(length):
        vl = source.randrange(lanes)
        weight = source.choice(_WEIGHTS) if source.random() < 0.5 else source.randrange(256)
        if kind == "zero" or (kind == "sparse" and source.random() < 0.8):
            weight = 0
        if kind == "light":
            weight = min(weight, 2)
        chosen.append(VLArbEntry(vl, weight))
    return tuple(chosen)
