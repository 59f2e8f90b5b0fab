"""Sleep of output ports whose heads all lack credit (``docs/engine.md``)."""

from __future__ import annotations

from vlane.golden.engine.bits import lowest_member
from vlane.golden.engine.kernel import inner
from vlane.golden.links.remote_credit import missing_blocks
from vlane.golden.links.returns import NEVER, earliest_return
from vlane.golden.schedulers.bank import idle_decisions_until_rest
from vlane.golden.switches.marking import marking_enabled
from vlane.golden.switches.output_ports import OutputPorts, starts_on_arrival


@inner
def may_sleep(out_ports: OutputPorts) -> bool:
    """Return whether the configuration lets ports sleep: a visit without credit changes only counts of waits."""
    return starts_on_arrival(out_ports) and not marking_enabled(out_ports.marking)


@inner
def fall_asleep(out_ports: OutputPorts, port: int, cycle: int) -> None:
    """Put a port to sleep until a missing block may return, if all heads lack credit (``docs/engine.md``)."""
    lanes, least = out_ports.queues.filled[port].lanes, NEVER
    if lanes == 0 or out_ports.sending[port].idle_decisions < idle_decisions_until_rest(out_ports.bank):
        return
    left = lanes
    while left != 0:
        lane = lowest_member(left)
        left &= left - 1
        least = min(least, missing_blocks(out_ports.remote_credit, port, lane, out_ports.head[port, lane].blocks))
    if least > 0:
        sleep = out_ports.sleep[port]
        sleep.lanes, sleep.start_cycle = lanes, cycle
        sleep.until = earliest_return(out_ports.returns, port, cycle, least)


@inner
def wake_up(out_ports: OutputPorts, port: int, cycle: int) -> None:
    """Wake a port before its decision of a cycle, and count the waits of the cycles since it fell asleep."""
    sleep = out_ports.sleep[port]
    left = sleep.lanes
    while left != 0:
        lane = lowest_member(left)
        left &= left - 1
        out_ports.head[port, lane].credit_wait_cycles += cycle - 1 - sleep.start_cycle
    sleep.lanes = sleep.until = 0
