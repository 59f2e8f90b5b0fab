"""Exchange of egress scheduler tables while a network runs (``docs/network.md``)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from vlane.errors import InputError
from vlane.golden.network.parts import is_foreign
from vlane.golden.network.runs import Change
from vlane.golden.network.state import Network
from vlane.golden.schedulers.bank import Write, is_swap_pending, request_swap
from vlane.golden.switches.inputs import bit_of, word_of

_ANEW = -1
"""Value of ``idle_decisions`` that excludes the next decision, in which the tables are exchanged."""


def check_shadow_table(switch: int, ports: Sequence[int], *, cycle: int, refusal: InputError) -> Change:
    """Return a change that raises ``refusal`` if a port's previous swap is still pending."""
    return Change(cycle, partial(_check_no_pending_swap, switch, tuple(ports), refusal))


def schedule_table_swap(switch: int, ports: Sequence[int], writes: Sequence[Write], *, cycle: int) -> Change:
    """Return a change that writes new tables and swaps them as soon as the ports' links are free."""
    return Change(cycle, partial(_request_swaps, switch, tuple(ports), tuple(writes)))


def _check_no_pending_swap(switch: int, ports: Sequence[int], refusal: InputError, network: Network) -> None:
    first = switch << network.switches.inputs.port_bits
    if any(is_swap_pending(network.out_ports.bank, first + port) for port in ports):
        raise refusal


def _request_swaps(switch: int, ports: Sequence[int], writes: Sequence[Write], network: Network) -> None:
    inputs = network.switches.inputs
    for port in ports:
        end = (switch << inputs.port_bits) + port
        if not is_foreign(network.partition, end):
            request_swap(network.out_ports.bank, end, writes)
            network.out_ports.sending[end].idle_decisions = _ANEW
            network.awake[word_of(inputs, end)] |= bit_of(inputs, end)
