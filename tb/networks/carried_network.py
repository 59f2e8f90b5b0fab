"""Description of a golden network with hardware switches, passed to the simulator's process."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from vlane.golden.network.runs import Change
from vlane.golden.network.state import Network
from vlane.golden.switches.output_ports import SentPacket
from vlane.tb.machinery.native.rows import Field, Words
from vlane.tb.networks.hardware import Hardware


@dataclass(frozen=True, slots=True)
class CarriedNetwork:
    """A network before its first cycle, connected to switches in hardware.

    Parameters
    ----------
    switches : list of int
        Numbers of the switches in hardware.
    net : Network
        The rest of the network.
    hardware : Hardware
        Rows and ports of the switches, without devices.
    faults : deque of Change
        Faults of the study.
    boot : array of uint64, (cycles, switches, words)
        Rows that reset and program the switches before cycle 0.
    cycles : int
        Length of the run in cycles.
    outputs : mapping of str to Field
        Positions of a switch's outputs in its row.
    plain : Network or None
        The same network without hardware, which supplies the expected outputs; the run ends at a difference. ``None``
        for no comparison.
    plain_faults : deque of Change
        Faults of the study, for ``plain``.
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


def expected_at(sending: SentPacket, port: int, cycle: int) -> dict[str, int]:
    """Return the expected ``valid``, and for a flit VL, ``first`` and ``last``, of a port, by output name."""
    place = cycle - int(sending.start_cycle)
    if not 0 <= place < sending.flits:
        return {f"tx__{port}__valid": 0}
    return {
        f"tx__{port}__valid": 1,
        f"tx__{port}__vl": int(sending.lane),
        f"tx__{port}__first": int(place == 0),
        f"tx__{port}__last": int(place == sending.flits - 1),
    }
