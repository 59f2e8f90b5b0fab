"""Stimulus of the InfiniBand switch: SL2VL, in addition to the shared part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.congestion.cc_marker import CCMarkerSelect
from vlane.congestion.marking_write import MarkingWrite
from vlane.credits.credit_starvation import StarvationSelect, StarvationWrite, starvation_element
from vlane.golden.congestion.markers import new_markers, write_marking
from vlane.golden.links.late_room import new_late_credits
from vlane.golden.links.remote_credit import RemoteCredit
from vlane.golden.switches.credit_starvation import NoStarvation, new_starvation, write_element, write_starvation
from vlane.golden.switches.kinds import Switches, infiniband_maker
from vlane.golden.switches.marking import NoMarking, new_marking
from vlane.golden.switches.vl_tables import tables_with_row_per_input
from vlane.switches.ib_switch import IBSwitchParameters
from vlane.switches.switch_programs import TableWrite, congestion_write, sl2vl_writes
from vlane.tables.sl2vl import SL_COUNT
from vlane.tb.machinery.native.stimulus import Layout, cut
from vlane.tb.switches.ib_switch import crosses as crosses_ib_switch
from vlane.tb.switches.ib_switch.rows import RULES, reachable_rules
from vlane.tb.switches.phases_switch import full_round, switch_phases
from vlane.tb.switches.stimulus_switch import SwitchTraffic
from vlane.tb.switches.switch_environment import MARKED, SETTINGS, STARVATION, WITHHELD
from vlane.tb.switches.switch_environment import RULES as SHARED

PROGRAM = tuple(f"sl2vl__{name}" for name in ("enable", "every_input", "input", "output", "row"))
"""Inputs of SL2VL's program port, in the order of a row."""
_ELEMENT = 0.25
"""Probability that a port has an element of its own."""


class IBSwitchTraffic(SwitchTraffic):
    """Stimulus of the InfiniBand switch: golden switch, its upstream senders and downstream receivers."""

    own_rules = RULES
    program_inputs = PROGRAM

    def __init__(self, parameters: Mapping[str, Any], **traffic: Any) -> None:
        ports = parameters["ports"]
        self._vl = np.zeros((1, ports, ports, SL_COUNT), np.uint8)
        self._shape = IBSwitchParameters(**parameters)
        self._settings: list[MarkingWrite] = []
        self._starvation: list[StarvationWrite] = []
        super().__init__(parameters, **traffic)
        self.applicable |= {SHARED[MARKED].name, SHARED[SETTINGS].name} if self._shape.marking else set()
        self.applicable |= {SHARED[WITHHELD].name, SHARED[STARVATION].name} if self._shape.starving else set()
        self.applicable -= {rule.name for rule in RULES} - reachable_rules(self._shape)

    @property
    def packets_inside(self) -> int:
        """Packet records for the switch in addition to those of its buffers: 0 except in the fast form.

        In the fast form an input lane may exceed its maximum.
        """
        if not self._shape.switch_form.late:
            return 0
        return self._shape.ports * self._shape.data_vls * 2 * (self._shape.maximum + 2 * self._shape.largest + 4)

    def _remote_credit(self, ends: int) -> RemoteCredit:
        """Return golden's credit counters of the far ends."""
        if not self._shape.switch_form.late:
            return super()._remote_credit(ends)
        largest = (self._shape.largest,) * self._shape.data_vls
        return new_late_credits(self._rooms(ends), largest=largest, first_exact=ends)

    @property
    def speed(self) -> int:
        """Number of flits that cross per cycle from one input."""
        return self._shape.inner_flits

    def make_switches(self, lft: NDArray[np.uint8]) -> Switches:
        """Return a switch in its state after reset."""
        tables = tables_with_row_per_input(self._vl, by_lane=False)
        form = self._shape.switch_form
        maker = infiniband_maker(form.allocation, form.crossbar, speed=self._shape.speed)
        return maker(lanes=self._shape.data_vls, lft=lft, tables=tables)

    def make_marking(self, ends: int) -> Any:
        """Return the marking state of ``ends`` outputs with the most recently drawn settings."""
        marker = self._shape.marker
        if marker is None:
            return NoMarking()
        markers = new_markers(
            ports=ends,
            maximum=(marker.maximum,) * marker.data_vls,
            largest=marker.largest,
            busy_blocks=marker.busy_blocks,
            level_blocks=marker.level_blocks,
            idle_blocks=marker.idle_blocks,
        )
        for write in self._settings:
            write_marking(markers, range(self._shape.ports), write)
        return new_marking(markers, ports=self._shape.ports, by_inputs=self._shape.by_inputs)

    def make_starvation(self, ends: int) -> Any:
        """Return the credit-starvation state of ``ends`` inputs with the most recently drawn settings."""
        shape = self._shape
        if not shape.starving:
            return NoStarvation()
        made = new_starvation(ports=ends, maximum=(shape.maximum,) * shape.data_vls)
        for write in self._starvation:
            write_starvation(made, 0, shape.ports, write)
        for element in self._settings:
            write_element(made, 0, shape.ports, element)
        return made

    def _draw_starvation(self) -> list[StarvationWrite]:
        """Draw a mask of most ports, a threshold that is soon reached, and a delay of a few cycles per block."""
        source, ports = self.source, self._shape.ports
        mask = source.getrandbits(ports) | source.getrandbits(ports)
        return [
            StarvationWrite(select=StarvationSelect.CREDIT_MASK, credit_mask=mask),
            StarvationWrite(
                select=StarvationSelect.RETURN,
                threshold=source.choice((0, 12, 14, 15, 15)),
                shift=source.randrange(4),
                multiplier=source.randrange(40),
            ),
        ]

    def draw_marking(self) -> list[TableWrite]:
        """Draw congestion settings: low thresholds, small marking rates and sizes, masks, and some port elements."""
        if self._shape.marker is None:
            return []
        source, ports = self.source, self._shape.ports

        def values() -> dict[str, int]:
            return {
                "threshold": source.choice((0, 8, 12, 14, 15, 15)),
                "packet_size": source.choice((0, 0, 2)),
                "marking_rate": source.choice((0, 0, 1, 3)),
            }

        of_switch = {**values(), "victim_mask": source.choice((0, source.getrandbits(ports), (1 << ports) - 1))}
        self._settings = [MarkingWrite(select=select, **of_switch) for select in CCMarkerSelect if select.of_switch]
        self._settings += [
            MarkingWrite(select=CCMarkerSelect.PORT, port=port, valid=1, **values())
            for port in range(ports)
            if source.random() < _ELEMENT
        ]
        self._starvation = self._draw_starvation() if self._shape.starving else []
        if self._shape.starving:
            self._settings += [
                starvation_element(port, source.choice((13, 15)), (source.randrange(4), source.randrange(60)))
                for port in range(ports)
                if source.random() < _ELEMENT
            ]
        return [*map(congestion_write, self._settings), *map(congestion_write, self._starvation)]

    def draw_maps(self) -> list[TableWrite]:
        """Draw an SL2VL table that is equal for all inputs."""
        for output in range(self.parameters["ports"]):
            self._vl[0, :, output] = [self.source.randrange(self.parameters["data_vls"]) for _ in range(SL_COUNT)]
        return sl2vl_writes(self._vl[0])


def qualified(
    parameters: Mapping[str, Any], *, cycles: int, seed: int, inputs: Layout, outputs: Layout
) -> IBSwitchTraffic:
    """Return the qualification stimulus of a switch: all phases, from reset, with random tables."""
    map_writes = parameters["ports"] ** 2
    phases = cut(switch_phases(parameters, cycles, map_writes=map_writes), cycles)
    traffic = IBSwitchTraffic(parameters, phases=phases, seed=seed, inputs=inputs, outputs=outputs)
    traffic.watch(
        crosses_ib_switch.crosses(parameters),
        crosses_ib_switch.events(parameters),
        inputs=inputs,
        outputs=outputs,
        judged_from_cycles=max(crosses_ib_switch.JUDGED_FROM_CYCLES, full_round(parameters, map_writes=map_writes)),
    )
    return traffic
