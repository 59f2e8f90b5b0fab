"""Counts of congestion control in a run: marks, notifications, held packets."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.golden.network.pacing import BECNS, CNPS, FECNS, HELD, LOGGED, Pacing
from vlane.golden.network.state import Network
from vlane.golden.switches.credit_starvation import Starvation
from vlane.golden.switches.marking import Marking


@dataclass(frozen=True)
class OfCongestion:
    """Counts since the start of a run, over all switches or all hosts.

    Parameters
    ----------
    marked : int
        Packets marked with FECN by switches.
    packets : int
        Packets sent by hosts, including CNPs.
    fecns : int
        Packets received with FECN.
    cnps : int
        CNPs sent.
    becns : int
        CNPs received.
    held : int
        Packets held back for their flow.
    lost : int
        BECNs without a free entry; the count of a host saturates at 65,535.
    logged : int
        BECNs that raised a CCTI to Trigger_Threshold.
    withheld : int
        Freed blocks whose return switches delayed (IBS-K2).
    cnp_share : float
        CNPs sent divided by packets sent by hosts.
    """

    marked: int
    packets: int
    fecns: int
    cnps: int
    becns: int
    held: int
    lost: int
    logged: int
    withheld: int
    cnp_share: float


def congestion_of(net: Network) -> OfCongestion | None:
    """Return the counts, or ``None`` without congestion control."""
    marking, pacing, starvation = net.out_ports.marking, net.pacing, net.out_ports.starvation
    if not (isinstance(marking, Marking) and isinstance(pacing, Pacing)):
        return None
    count = pacing.counts.sum(axis=0)
    first = len(net.switches.inputs.port)
    packets = int(net.out_ports.counters["packets"][first : first + len(pacing.nic)].sum())
    withheld = int(starvation.port["withheld"].sum()) if isinstance(starvation, Starvation) else 0
    return OfCongestion(
        marked=int(marking.lane["marked"].sum()),
        packets=packets,
        fecns=int(count[FECNS]),
        cnps=int(count[CNPS]),
        becns=int(count[BECNS]),
        held=int(count[HELD]),
        lost=int(pacing.sources.sweep["lost_becns"].sum()),
        logged=int(count[LOGGED]),
        withheld=withheld,
        cnp_share=int(count[CNPS]) / max(1, packets),
    )
