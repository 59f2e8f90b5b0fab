"""Shares of lanes that differ from the configured weights because ports send whole packets."""

from __future__ import annotations

from vlane.fabric.finding import Finding
from vlane.fabric.model import Fabric, Port
from vlane.fabric.option_findings import share_findings


def weight_findings(fabric: Fabric) -> list[Finding]:
    """Return a finding for each table, MTU and number of lanes with actual shares that differ from the weights."""
    findings = []
    for table, ports in fabric.distinct_tables().items():
        same: dict[tuple[int, int], list[Port]] = {}
        for port in ports:
            if fabric.mtu_of(port):
                same.setdefault((fabric.mtu_of(port), fabric.data_vls_of(port)), []).append(port)
        for (mtu, vls), alike in same.items():
            findings += [
                each._replace(where=fabric.show_all(alike), ports=tuple(alike))
                for each in share_findings("", table, mtu=mtu, vls=vls)
            ]
    return findings
