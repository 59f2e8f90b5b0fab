"""Selection of the output ports that a cycle must visit, and prefetching of their records (``docs/engine.md``)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import lowest_member
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.prefetch import prefetch
from vlane.golden.links.remote_credit import fcp_due, fcp_period, prefetch_credit
from vlane.golden.links.returns import has_returns_under_way, prefetch_returns
from vlane.golden.schedulers.bank import idle_decisions_until_rest, prefetch_tables, uses_second_packets
from vlane.golden.switches.output_ports import OutputPorts
from vlane.golden.switches.packets import Packets, prefetch_first, prefetch_queues


@inner
def prefetch_port(out_ports: OutputPorts, port: int) -> None:
    """Prefetch the records that a cycle of a port uses, except its packets."""
    prefetch_queues(out_ports.queues, port)
    prefetch(out_ports.sending, port)
    prefetch(out_ports.head, port * out_ports.head.shape[1])
    prefetch_tables(out_ports.bank, port)
    prefetch_returns(out_ports.returns, port)
    prefetch_credit(out_ports.remote_credit, port)


@inner
def prefetch_heads(out_ports: OutputPorts, packets: Packets, port: int) -> None:
    """Prefetch the head packet of the port's lowest non-empty lane and the counters of that lane."""
    prefetch_first(packets, out_ports.queues, port)
    lanes = out_ports.queues.filled[port].lanes
    if lanes != 0:
        prefetch(out_ports.counters, port * out_ports.counters.shape[1] + lowest_member(lanes))


@inner
def list_free(out_ports: OutputPorts, ports: NDArray[np.int64], port_count: int, cycle: int) -> int:
    """Remove sleeping ports, and ports whose busy link leaves them no work, from the first ``port_count`` list entries.

    Return the number of ports that remain.
    """
    if uses_second_packets(out_ports.bank) or fcp_period(out_ports.remote_credit) != 0:
        return port_count
    left = 0
    for index in range(port_count):
        port = ports[index]
        ports[left] = port
        left += max(out_ports.free_from[port], out_ports.sleep[port].until) <= cycle
    return left


@inner
def fcp_may_become_due(out_ports: OutputPorts, port: int, cycle: int) -> bool:
    """Return whether a flow-control packet can become due before the next period.

    Space that becomes free immediately is not considered; its port is woken in the same cycle.
    """
    if fcp_period(out_ports.remote_credit) == 0:
        return False
    return has_returns_under_way(out_ports.returns, port) or fcp_due(out_ports.remote_credit, port, cycle)


@inner
def may_skip_decision(out_ports: OutputPorts, port: int) -> bool:
    """Return whether a port has no packets and stepping its scheduler would change no state."""
    return out_ports.queues.filled[port].lanes == 0 and out_ports.sending[
        port
    ].idle_decisions >= idle_decisions_until_rest(out_ports.bank)
