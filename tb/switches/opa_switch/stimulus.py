"""Stimulus of the Omni-Path switch: channels and central buffers, in addition to the shared part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.links.room import new_occupancy
from vlane.golden.switches.kinds import Switches
from vlane.golden.switches.opa_switch import new_opa_switches
from vlane.switches.mports import mports_of
from vlane.switches.switch_kinds import OMNI_PATH
from vlane.switches.switch_programs import TableWrite, sc_writes
from vlane.tables.sc import SC15, SC_COUNT
from vlane.tb.machinery.native.stimulus import Layout, cut
from vlane.tb.switches.opa_switch import crosses as crosses_opa_switch
from vlane.tb.switches.opa_switch.rows import OWN_RULES, RULES
from vlane.tb.switches.phases_switch import full_round, switch_phases
from vlane.tb.switches.stimulus_switch import SwitchTraffic

_CHANGED = 4
"""Most channels that a pair of ports maps to other channels."""

PROGRAM = tuple(f"sc__{name}" for name in ("enable", "table", "ingress", "egress", "index", "value"))
"""Inputs of the maps' program port, in the order of a row."""


class OPASwitchTraffic(SwitchTraffic):
    """Stimulus of the Omni-Path switch: golden switch, its upstream senders and downstream receivers."""

    own_rules = RULES
    program_inputs = PROGRAM
    speed = OMNI_PATH.inner_flits

    def __init__(self, parameters: Mapping[str, Any], **traffic: Any) -> None:
        ports = parameters["ports"]
        self._sc2sc = np.broadcast_to(np.arange(SC_COUNT, dtype=np.uint8), (1, ports, ports, SC_COUNT)).copy()
        self._sc2vl = np.zeros((1, ports, SC_COUNT), np.uint8)
        super().__init__(parameters, **traffic)
        if mports_of(ports) == 1:
            self.applicable -= {rule.name for rule in OWN_RULES}

    @property
    def packets_inside(self) -> int:
        """Packet records for the central buffers, one per block."""
        return mports_of(self.parameters["ports"]) * int(self.parameters["central_blocks"])

    def make_switches(self, lft: NDArray[np.uint8]) -> Switches:
        """Return a switch in its state after reset."""
        given, lanes = self.parameters, self.parameters["data_vls"]
        rooms = new_occupancy(
            buffers=mports_of(given["ports"]),
            blocks=given["central_blocks"],
            minimum=(given["central_minimum"],) * lanes,
            maximum=(given["central_maximum"],) * lanes,
        )
        return new_opa_switches(central=rooms, lft=lft, sc2sc=self._sc2sc, sc2vl=self._sc2vl)

    def draw_maps(self) -> list[TableWrite]:
        """Draw SC2VL for every output, and SC2SC for some channels."""
        ports, lanes, source = self.parameters["ports"], self.parameters["data_vls"], self.source
        for output in range(ports):
            self._sc2vl[0, output] = [source.randrange(lanes) for _ in range(SC_COUNT)]
            for given in range(ports):
                for _ in range(_CHANGED):
                    self._sc2sc[0, given, output, source.randrange(SC15)] = source.randrange(SC_COUNT)
        return sc_writes(self._sc2sc[0], self._sc2vl[0])


def map_writes_of(ports: int) -> int:
    """Return the largest number of channel-map writes that programming ``ports`` ports takes."""
    return ports * (_CHANGED * ports + SC_COUNT)


def qualified(
    parameters: Mapping[str, Any], *, cycles: int, seed: int, inputs: Layout, outputs: Layout
) -> OPASwitchTraffic:
    """Return the qualification stimulus of a switch: all phases, from reset, with random tables."""
    map_writes = map_writes_of(parameters["ports"])
    phases = cut(switch_phases(parameters, cycles, map_writes=map_writes), cycles)
    traffic = OPASwitchTraffic(parameters, phases=phases, seed=seed, inputs=inputs, outputs=outputs)
    traffic.watch(
        crosses_opa_switch.crosses(parameters),
        crosses_opa_switch.events(parameters),
        inputs=inputs,
        outputs=outputs,
        judged_from_cycles=max(crosses_opa_switch.JUDGED_FROM_CYCLES, full_round(parameters, map_writes=map_writes)),
    )
    return traffic
