"""State of a golden network: the records that every module of the cycle reads and writes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Records
from vlane.golden.network.meters import Meters
from vlane.golden.network.parts import Border
from vlane.golden.switches.inputs import Grant
from vlane.golden.switches.kinds import Switches
from vlane.golden.switches.output_ports import OutputPorts
from vlane.golden.topologies.wiring import Wiring
from vlane.golden.traffic.sources import Sources


class Network(NamedTuple):
    """State of a network.

    Parameters
    ----------
    wiring : Wiring
        Cables.
    switches : Switches
        Input ports and allocation.
    out_ports : OutputPorts
        Output ports of switches and NICs.
    sources : Sources
        Packet generation.
    meters : Meters
        Measurements.
    staged_packets : array of int64, (NICs, classes)
        Drawn head of each application queue, or ``NOBODY``.
    awake : array of int64, (words,)
        Bit set of sending ports that may have work.
    awake_ports : array of int64, (ends and a margin,)
        Scratch of a cycle: list of the awake sending ports.
    grants : Records of Grant, (maximum number of grants per cycle,)
        Scratch of a cycle: grants of the switches.
    arriving_heads : array of int64, (ends,)
        Head that arrives at a co-simulated port, ``NOBODY`` for none; empty in a pure golden run. Co-simulated ports
        are numbered after all NICs.
    clock : array of int64, (2,)
        Next cycle; last cycle in which a packet moved.
    patience : int
        Number of cycles without movement after which a network that holds packets is stuck.
    partition : UndividedNetwork or Part
        Connection to the other parts of a network that runs on several cores.
    pacing : Unpaced or Pacing
        Congestion control of the NICs.
    """

    wiring: Wiring
    switches: Switches
    out_ports: OutputPorts
    sources: Sources
    meters: Meters
    staged_packets: NDArray[np.int64]
    awake: NDArray[np.int64]
    awake_ports: NDArray[np.int64]
    grants: Records[Grant]
    arriving_heads: NDArray[np.int64]
    clock: NDArray[np.int64]
    patience: int
    partition: Border
    pacing: Any
