"""What is done to a network from outside while it runs: links stall, forwarding tables are written."""

from __future__ import annotations

from functools import partial

from vlane.golden.links.remote_credit import fcp_period, lose
from vlane.golden.network.clock import NOW
from vlane.golden.network.network import Network
from vlane.golden.network.runs import Change
from vlane.golden.switches.inputs import ROUTED
from vlane.golden.switches.marking import note_pause


def link_stalls(switch: int, port: int, *, cycle: int, cycles: int) -> Change:
    """Return the change after which nothing starts on a port's link for so many cycles (IBS-7); ports from 0."""
    return Change(cycle, partial(_stall, switch, port, cycle + cycles))


def fcps_are_lost(switch: int, port: int, *, cycle: int, cycles: int, told_after: int = 0) -> Change:
    """Return the change after which flow-control packets that a port sends are lost, for so many cycles (IBS-C6).

    Parameters
    ----------
    told_after : int
        Cycles after which golden is told of one that was sent, by a switch that is not golden's.
    """
    return Change(cycle + told_after, partial(_lose, switch, port, cycle + cycles))


def table_is_written(switch: int, lid: int, output: int, *, cycle: int) -> Change:
    """Return the change after which heads that arrive in a cycle or later find a LID's output, from 0; 255 for none."""
    return Change(cycle + ROUTED, partial(_write, switch, lid, output))


def _stall(switch: int, port: int, until: int, net: Network) -> None:
    end, now = (switch << net.switches.inputs.port_bits) + port, int(net.clock[NOW])
    note_pause(net.out_ports.marking, end, now, until)
    net.out_ports.free_from[end] = max(int(net.out_ports.free_from[end]), until)


def _lose(switch: int, port: int, until: int, net: Network) -> None:
    if fcp_period(net.out_ports.remote) == 0:
        raise TypeError("no flow-control packets tell of room here")
    lose(net.out_ports.remote, (switch << net.switches.inputs.port_bits) + port, until)


def _write(switch: int, lid: int, output: int, net: Network) -> None:
    net.switches.inputs.lft[switch, lid] = output
