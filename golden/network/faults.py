"""Faults and table writes that are applied while a network runs: stalled links, lost FCPs, changed LFT entries."""

from __future__ import annotations

from functools import partial

from vlane.golden.links.remote_credit import fcp_period, lose
from vlane.golden.network.clock import NOW
from vlane.golden.network.runs import Change
from vlane.golden.network.state import Network
from vlane.golden.switches.inputs import ROUTED
from vlane.golden.switches.marking import note_pause


def link_stalls(switch: int, port: int, *, cycle: int, cycles: int) -> Change:
    """Return a change that stalls a port's link for a number of cycles (IBS-7).

    Ports count from 0.
    """
    return Change(cycle, partial(_stall, switch, port, cycle + cycles))


def fcps_are_lost(switch: int, port: int, *, cycle: int, cycles: int, told_after: int = 0) -> Change:
    """Return a change that discards the flow-control packets that a port sends during a number of cycles (IBS-C6).

    Parameters
    ----------
    told_after : int
        Delay in cycles until golden receives an FCP of a co-simulated switch.
    """
    return Change(cycle + told_after, partial(_lose, switch, port, cycle + cycles))


def table_is_written(switch: int, lid: int, output: int, *, cycle: int) -> Change:
    """Return a change that sets the output (from 0, 255 for none) of a LID for heads that arrive from ``cycle`` on."""
    return Change(cycle + ROUTED, partial(_write, switch, lid, output))


def _stall(switch: int, port: int, until: int, net: Network) -> None:
    end, now = (switch << net.switches.inputs.port_bits) + port, int(net.clock[NOW])
    note_pause(net.out_ports.marking, end, now, until)
    net.out_ports.free_from[end] = max(int(net.out_ports.free_from[end]), until)


def _lose(switch: int, port: int, until: int, net: Network) -> None:
    if fcp_period(net.out_ports.remote) == 0:
        raise TypeError("this network sends no flow-control packets")
    lose(net.out_ports.remote, (switch << net.switches.inputs.port_bits) + port, until)


def _write(switch: int, lid: int, output: int, net: Network) -> None:
    net.switches.inputs.lft[switch, lid] = output
