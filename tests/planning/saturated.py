"""Shares of a saturated link by lane, for tests."""

from __future__ import annotations

from collections.abc import Mapping

from vlane.schedulers.vlarb import VL15, VLArbTable
from vlane.schedulers.vlarb_service import saturated_service


def saturated_shares(table: VLArbTable, sizes: Mapping[int, int], *, data_vls: int) -> dict[int, float]:
    """Return each lane's exact share, by lanes with a packet size in blocks."""
    by_vl, sent = [0] * (VL15 + 1), [0] * (VL15 + 1)
    for lane, blocks in sizes.items():
        by_vl[lane] = blocks if lane < data_vls else 0
    saturated_service(*table.columns(), by_vl, sent)
    whole = sum(sent)
    return {lane: sent[lane] / whole if whole else 0.0 for lane in sizes}
