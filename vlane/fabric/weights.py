"""Weights compared with packet sizes: tables whose rounding to whole packets changes the shares of their weights."""

from __future__ import annotations

from vlane.fabric.finding import Finding
from vlane.fabric.model import Fabric, Port
from vlane.schedulers.vlarb import VLArbEntry, VLArbTable
from vlane.schedulers.vlarb_shares import LaneShare, lane_shares, nearest_list
from vlane.units import mtu_blocks

_OFF = 0.1
"""Tolerated relative deviation of a lane's share; whole packets cannot always avoid a smaller one."""


def weight_findings(fabric: Fabric) -> list[Finding]:
    """Return a finding for each table, MTU and number of lanes whose shares differ from those of its weights."""
    findings = []
    for table, ports in fabric.distinct_tables().items():
        same: dict[tuple[int, int], list[Port]] = {}
        for port in ports:
            if fabric.mtu_of(port):
                same.setdefault((fabric.mtu_of(port), fabric.data_vls_of(port)), []).append(port)
        for (mtu, vls), alike in same.items():
            said = _said(table, mtu, vls)
            if said:
                blocks = f"packets of {mtu} bytes are {mtu_blocks(mtu)} blocks, weights are rounded up to them"
                findings.append(
                    Finding("WEIGHT_BELOW_MTU", fabric.show_all(alike), f"{blocks}: {'; '.join(said)}", tuple(alike))
                )
    return findings


def _said(table: VLArbTable, mtu: int, vls: int) -> list[str]:
    """Return for each list with wrong shares the lanes' shares, and weights that give the intended ones."""
    said = []
    for name, entries in (("high", table.high), ("low", table.low)):
        active = [entry for entry in entries if entry.weight and entry.vl < vls]
        shares = lane_shares(active, mtu_blocks(mtu))
        if any(abs(share.given - share.meant) > _OFF * share.meant for share in shares):
            said.append(f"in the {name} list {_spell(shares)}; {_advice(active, shares, mtu_blocks(mtu))}")
    return said


def _advice(entries: list[VLArbEntry], shares: tuple[LaneShare, ...], blocks: int) -> str:
    nearest = nearest_list(entries, blocks)
    weights = ",".join(f"{vl}:{weight}" for vl, weight in nearest.entries)
    if nearest.exact:
        return f"{weights} would give what was meant"
    if nearest.shares == shares:
        return "no weights up to 255, one entry for each of these, come nearer"
    given = _spell(nearest.shares)
    return f"no weights up to 255, one entry for each of these, give that; the nearest are {weights}: {given}"


def _spell(shares: tuple[LaneShare, ...]) -> str:
    return ", ".join(f"VL {vl} gets {100 * given:.1f} % of {100 * meant:.1f} %" for vl, meant, given in shares)
