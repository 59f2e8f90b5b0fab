"""What a bench is given to carry a golden network around hardware; it crosses to the simulator's process."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from vlane.golden.network.network import Network
from vlane.golden.network.runs import Change
from vlane.golden.switches.output_ports import Sending
from vlane.tb.machinery.native.rows import Field, Words
from vlane.tb.networks.hardware import Hardware


@dataclass(frozen=True, slots=True)
class CarriedNetwork:
    """A network at rest, cabled to switches in hardware.

    Parameters
    ----------
    switches : list of int
        Those in hardware.
    net : Network
        The rest of the network.
    hardware : Hardware
        Rows and ports of the switches, without devices.
    faults : deque of Change
        Faults of the study.
    boot : array of uint64, (cycles, switches, words)
        Rows that reset and program the switches before cycle 0.
    cycles : int
        Length of the run.
    outputs : mapping of str to Field
        Where a switch's outputs are in its row.
    plain : Network or None
        The same network without hardware, which says what the outputs must be; the run ends where they differ.
    plain_faults : deque of Change
        The faults for it.
    """

    switches: list[int]
    net: Network
    hardware: Hardware
    faults: deque[Change]
    boot: Words
    cycles: int
    outputs: Mapping[str, Field]
    plain: Network | None
    plain_faults: deque[Change]


def expected_at(sending: Sending, port: int, cycle: int) -> dict[str, int]:
    """Return what golden says of the flit that leaves a port in a cycle, by name of the output; VL and ends of one."""
    place = cycle - int(sending.since)
    if not 0 <= place < sending.flits:
        return {f"tx__{port}__valid": 0}
    return {
        f"tx__{port}__valid": 1,
        f"tx__{port}__vl": int(sending.lane),
        f"tx__{port}__first": int(place == 0),
        f"tx__{port}__last": int(place == sending.flits - 1),
    }
