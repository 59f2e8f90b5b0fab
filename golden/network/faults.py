"""Faults and table writes that are applied while a network runs: stalled links, lost FCPs, changed LFT entries."""

from __future__ import annotations

from functools import partial

from vlane.golden.links.remote_credit import drop_fcps, fcp_period
from vlane.golden.network.clock import NOW
from vlane.golden.network.runs import Change
from vlane.golden.network.state import Network
from vlane.golden.switches.inputs import ROUTED
from vlane.golden.switches.marking import note_link_pause


def stall_link(switch: int, port: int, *, cycle: int, cycles: int) -> Change:
    """Return a change that stalls a port's link for a number of cycles (IBS-7)."""
    return Change(cycle, partial(_apply_stall, switch, port, cycle + cycles))


def lose_fcps(switch: int, port: int, *, cycle: int, cycles: int, notice_delay: int = 0) -> Change:
    """Return a change that loses all flow-control packets of a port during a number of cycles (IBS-C6).

    Parameters
    ----------
    notice_delay : int
        Delay in cycles until golden receives an FCP of a co-simulated switch.
    """
    return Change(cycle + notice_delay, partial(_apply_fcp_loss, switch, port, cycle + cycles))


def write_forwarding_entry(switch: int, lid: int, output: int, *, cycle: int) -> Change:
    """Return a change that sets the output (from 0, 255 for none) of a LID from ``cycle`` on."""
    return Change(cycle + ROUTED, partial(_apply_forwarding_entry, switch, lid, output))


def _apply_stall(switch: int, port: int, end_cycle: int, network: Network) -> None:
    end, now = (switch << network.switches.inputs.port_bits) + port, int(network.clock[NOW])
    note_link_pause(network.out_ports.marking, end, now, end_cycle)
    network.out_ports.free_from[end] = max(int(network.out_ports.free_from[end]), end_cycle)


def _apply_fcp_loss(switch: int, port: int, end_cycle: int, network: Network) -> None:
    if fcp_period(network.out_ports.remote_credit) == 0:
        raise TypeError("this network sends no flow-control packets")
    drop_fcps(network.out_ports.remote_credit, (switch << network.switches.inputs.port_bits) + port, end_cycle)


def _apply_forwarding_entry(switch: int, lid: int, output: int, network: Network) -> None:
    network.switches.inputs.lft[switch, lid] = output
