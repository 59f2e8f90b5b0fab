"""Writes of congestion-control settings while a network runs (NCC-14 to NCC-16, ``docs/congestion.md``)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from vlane.congestion.cc_source import CCSourceSelect
from vlane.congestion.marking_write import MarkingWrite
from vlane.credits.credit_starvation import StarvationWrite
from vlane.golden.congestion.markers import write_marking
from vlane.golden.congestion.sources import (
    W_INCREASE,
    W_INDEX,
    W_LIMIT,
    W_MINIMUM,
    W_MULTIPLIER,
    W_PORT_MODE,
    W_SELECT,
    W_SHIFT,
    W_TIMER,
    W_TRIGGER,
    write,
)
from vlane.golden.network.runs import Change
from vlane.golden.network.state import Network
from vlane.golden.switches.credit_starvation import Starvation, write_element, write_starvation

HostWrite = dict[int, int]
"""A settings write of a NIC: values by write-port index."""
_TAKES_EFFECT = 1


def schedule_marking_write(switch: int, write: MarkingWrite, *, cycle: int) -> Change:
    """Return a change that writes marking settings of a switch in ``cycle``."""
    return Change(cycle + _TAKES_EFFECT, partial(_apply_marking, switch, write))


def schedule_pacing_writes(writes: Sequence[HostWrite], *, cycle: int, nics: Sequence[int] | None = None) -> Change:
    """Return a change that writes settings of NICs (default: all), after the injections of ``cycle``."""
    return Change(cycle + _TAKES_EFFECT, partial(_apply_pacing, tuple(writes), nics))


def port_control_write(mode: int) -> HostWrite:
    """Return the write that sets bit 0 of Port_Control."""
    return {W_SELECT: CCSourceSelect.PORT_CONTROL, W_PORT_MODE: mode}


def ccti_limit_write(last: int) -> HostWrite:
    """Return the write that sets CCTI_Limit."""
    return {W_SELECT: CCSourceSelect.LIMIT, W_LIMIT: last}


def sl_settings_write(sl: int, *, timer: int, increase: int, trigger: int, minimum: int) -> HostWrite:
    """Return the write that sets the CACongestionEntry of an SL."""
    return {
        W_SELECT: CCSourceSelect.LEVEL,
        W_INDEX: sl,
        W_TIMER: timer,
        W_INCREASE: increase,
        W_TRIGGER: trigger,
        W_MINIMUM: minimum,
    }


def cct_entry_write(index: int, shift: int, multiplier: int) -> HostWrite:
    """Return the write that sets an entry of the CCT."""
    return {W_SELECT: CCSourceSelect.TABLE, W_INDEX: index, W_SHIFT: shift, W_MULTIPLIER: multiplier}


def schedule_starvation_write(switch: int, write: StarvationWrite, *, cycle: int) -> Change:
    """Return a change that writes credit-starvation settings of a switch in ``cycle``."""
    return Change(cycle + _TAKES_EFFECT, partial(_apply_starvation, switch, write))


def _apply_marking(switch: int, write: MarkingWrite, network: Network) -> None:
    inputs, starvation = network.switches.inputs, network.out_ports.starvation
    first, ports = switch << inputs.port_bits, 1 << inputs.port_bits
    write_marking(network.out_ports.marking.markers, range(first, first + ports), write)
    if isinstance(starvation, Starvation):
        write_element(starvation, first, ports, write)


def _apply_starvation(switch: int, write: StarvationWrite, network: Network) -> None:
    inputs = network.switches.inputs
    write_starvation(network.out_ports.starvation, switch << inputs.port_bits, 1 << inputs.port_bits, write)


def _apply_pacing(writes: Sequence[HostWrite], nics: Sequence[int] | None, network: Network) -> None:
    """Write settings of NICs (NCC-16)."""
    for each in writes:
        row = np.zeros(W_MULTIPLIER + 1, np.int64)
        for place, value in each.items():
            row[place] = value
        for nic in range(len(network.staged_packets)) if nics is None else nics:
            write(network.pacing.sources, nic, row)
