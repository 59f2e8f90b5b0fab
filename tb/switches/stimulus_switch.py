"""Stimulus of a switch: tables and schedulers, phase by phase, from reset. A kind of switch adds its map."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vlane.credits.credit_schemes import CREDIT_SCHEMES, RETURNS
from vlane.golden.compiler.records import new_records
from vlane.golden.engine.random_bits import seeded_rng
from vlane.golden.engine.rule import Rule
from vlane.golden.links.fcp_limits import new_limits
from vlane.golden.links.late_room import AGE
from vlane.golden.links.remote_credit import RemoteCredit
from vlane.golden.links.returns import new_returns
from vlane.golden.links.room import BufferOccupancy, new_occupancy
from vlane.golden.schedulers.bank import Write, new_bank, new_scheduler, set_port_state
from vlane.golden.switches.credit_starvation import NoStarvation
from vlane.golden.switches.inputs import Grant
from vlane.golden.switches.kinds import Switches
from vlane.golden.switches.marking import NoMarking
from vlane.golden.switches.output_ports import new_output_ports
from vlane.golden.switches.packets import new_packets
from vlane.schedulers.registry import SCHEDULERS
from vlane.switches.switch_programs import TableWrite, lft_writes, schedule_writes, top_write
from vlane.tables.lft import UNASSIGNED
from vlane.tb.by_name import stimulus
from vlane.tb.machinery.native.crosses import EventLog
from vlane.tb.machinery.native.packing import elements, put_writes
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus
from vlane.tb.switches.marking_writes import MARKING_PROGRAM
from vlane.tb.switches.phases_switch import SwitchPhase
from vlane.tb.switches.rows_switch import fill_rows
from vlane.tb.switches.starvation_rows import STARVATION_PROGRAM
from vlane.tb.switches.switch_environment import (
    CLOCK,
    GAPS,
    MARKED,
    RING,
    RULES,
    SETTINGS,
    STARTS,
    STARVATION,
    TOLD,
    TOO_LARGE,
    WITHHELD,
    OutgoingFlit,
    Sender,
    SwitchEnvironment,
)
from vlane.tb.switches.table_writes import apply_write, route_lids

_WORD_BITS = 64
_WRITTEN = 6


def switch_elements(
    inputs: Layout, outputs: Layout, *, ports: int, words: int, program: Sequence[str] = ()
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of a switch's inputs and outputs, port by port.

    Inputs: reset; each port's flit (valid, VL, first, last and data words); each port's received credits (blocks and
    VL, blocks of each VL, or a flow-control packet); links ready; then the forwarding table's program port and the
    inputs named in ``program``. Outputs: the flits; the sent credits; the drop causes.
    """
    flits = [("valid", 1), ("vl", 1), ("first", 1), ("last", 1), ("data", words)]
    is_by_fcp = "fcp_rx__0__valid" in inputs
    credit_in, returned = ("fcp_rx", "fcp_tx") if is_by_fcp else ("far_returned", "returned")
    fields = ("valid", "vl", "limit") if is_by_fcp else ("blocks", "vl")
    returns = [name for name in fields if f"{credit_in}__0__{name}" in inputs]
    given = [("rst", 1)]
    given += [(f"rx__{port}__{name}", count) for port in range(ports) for name, count in flits]
    given += [(f"{credit_in}__{port}__{name}", 1) for port in range(ports) for name in returns]
    given += [("ready", ports)]
    given += [(f"lft__{name}", 1) for name in ("enable", "top", "lid", "port")]
    given += [(name, 1) for name in program]
    shown = [(f"tx__{port}__{name}", count) for port in range(ports) for name, count in flits]
    shown += [(f"{returned}__{port}__{name}", 1) for port in range(ports) for name in returns]
    return elements(inputs, given), elements(outputs, [*shown, ("dropped", ports)])


class SwitchTraffic(Stimulus):
    """Golden switch with its neighbours.

    A subclass creates the switch, and its map from levels or channels to lanes.

    Parameters
    ----------
    parameters : mapping
        Parameters of the component.
    phases : sequence of SwitchPhase
        Phases, in the order in which they run, each from reset.
    seed : int
        Seed of the random choices; equal arguments give equal rows.
    inputs, outputs : mapping
        Position of every port in a row.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *,
        phases: tuple[SwitchPhase, ...],
        seed: int,
        inputs: Layout,
        outputs: Layout,
    ) -> None:
        super().__init__(phases, self.own_rules)
        self.parameters, self._inputs = dict(parameters), inputs
        self._credit = CREDIT_SCHEMES[parameters.get("credit", RETURNS.name)]
        self._bits, self.source = seeded_rng(seed), random.Random(seed)  # noqa: S311 - a repeatable choice
        ports = parameters["ports"]
        self._words = parameters["data_bits"] // _WORD_BITS
        congestion = [name for name in (*STARVATION_PROGRAM, *MARKING_PROGRAM) if name in inputs]
        self._ins, self._outs = switch_elements(
            inputs, outputs, ports=ports, words=self._words, program=(*self.program_inputs, *congestion)
        )
        self._lft = np.full(parameters["lids"], UNASSIGNED, np.uint8)
        self._started = 0
        self._around = self._environment([[]] * ports)
        self._boot: list[TableWrite] = []
        has_more_room = self.parameters["maximum"] > self.parameters["largest"]
        others = ((TOLD, self._credit.by_fcps), (GAPS, self.pauses), (TOO_LARGE, has_more_room))
        never = {MARKED, SETTINGS, WITHHELD, STARVATION, *(rule for rule, applies in others if not applies)}
        self.applicable = frozenset(rule.name for rule in self.own_rules) - {RULES[each].name for each in never}

    own_rules: ClassVar[tuple[Rule, ...]]
    """Rules to count, in order."""

    program_inputs: ClassVar[tuple[str, ...]]
    """Inputs of the map's program port, in the order of a row."""

    @abstractmethod
    def make_switches(self, lft: NDArray[np.uint8]) -> Switches:
        """Return a golden switch after reset, with the map that the memory contains."""

    def make_marking(self, ends: int) -> Any:  # noqa: ARG002 - used by switches with marking
        """Return the marking of ``ends`` outputs, with the settings drawn last."""
        return NoMarking()

    def make_starvation(self, ends: int) -> Any:  # noqa: ARG002 - used by switches with credit starvation
        """Return the credit starvation of ``ends`` inputs, with the settings drawn last."""
        return NoStarvation()

    def draw_marking(self) -> list[TableWrite]:
        """Draw the settings of the marking and return their writes, or nothing without marking."""
        return []

    @abstractmethod
    def draw_maps(self) -> list[TableWrite]:
        """Draw the map after power-on and return its writes."""

    @property
    @abstractmethod
    def speed(self) -> int:
        """Flits that cross per cycle from one input."""

    @property
    def pauses(self) -> bool:
        """Whether flits of a packet may arrive with gaps. Short gaps change nothing if one flit crosses per cycle."""
        return self.speed == 1 and bool(self.parameters["largest"] > 1)

    @property
    @abstractmethod
    def packets_inside(self) -> int:
        """Packet records for the switch in addition to those of its input and output buffers."""

    @property
    def decisions(self) -> int:
        """Number of packets that entered links so far."""
        return self._started + int(self._around.regs[STARTS])

    def _environment(self, tables: list[list[Write]]) -> SwitchEnvironment:
        """Return golden after reset, with the tables that the memories contain and each output's scheduler table."""
        given = self.parameters
        ports, lanes, name = given["ports"], given["data_vls"], given["scheduler"]
        settings = SCHEDULERS[name].switch_parameters(given["entries"], line_rate=given["line_rate"])
        lft = np.full(given["lids"], UNASSIGNED, np.uint8)
        route_lids(self._lft, given["lids"] - 1, ports, lft)
        switches = self.make_switches(lft[np.newaxis])
        ends = len(switches.inputs.port)
        remote = self._remote_credit(ends)
        bank = new_bank(new_scheduler(name, data_vls=lanes, **settings), ends)
        for port, writes in enumerate(tables):
            set_port_state(bank, port, new_scheduler(name, data_vls=lanes, writes=writes, **settings))
        out_ports = new_output_ports(
            buffer=self._rooms(ends),
            remote_credit=remote,
            bank=bank,
            returns=new_returns(end_count=ends, rows=1, flight=1, flit_shift=0, speed=self.speed),
            largest=(given["largest"],) * lanes,
            marking=self.make_marking(ends),
            starvation=self.make_starvation(ends),
        )
        pool = ports * (2 * given["blocks"] + 4) + self.packets_inside
        return SwitchEnvironment(
            switches=switches,
            out_ports=out_ports,
            remote=remote,
            packets=new_packets(pool),
            lft=self._lft,
            top=np.array([given["lids"] - 1]),
            up=self._rooms(ports),
            input_buffers=self._rooms(ports),
            sending=new_records(Sender, ports),
            header=np.zeros(pool, np.int64),
            number=np.zeros(pool, np.int64),
            tx=new_records(OutgoingFlit, ports, RING),
            back=np.zeros((ports, RING, 2), np.int64),
            left=np.zeros((ports, 2), np.int64),
            full=np.zeros((ports, 4), np.int64),
            late_credit=np.zeros((ports, AGE, 2), np.int64),
            dropped=np.zeros((ports, RING), np.int64),
            owed=np.zeros((ports, lanes), np.int64),
            received_credit=np.zeros((ports, 3), np.int64),
            limit_sent=np.zeros((ports, RING, 2), np.int64),
            freed=np.zeros((ports, lanes), np.int64),
            known=np.zeros((ports, lanes), np.int64),
            stalled=np.zeros(ports, np.int64),
            written=np.zeros((4, _WRITTEN), np.int64),
            rows=np.zeros(4, np.uint64),
            grants=new_records(Grant, max(ports * lanes, 2 * ports + 2)),
            regs=np.zeros(3, np.int64),
        )

    def _rooms(self, buffers: int) -> BufferOccupancy:
        given, lanes = self.parameters, self.parameters["data_vls"]
        return new_occupancy(
            buffers=buffers,
            blocks=given["blocks"],
            minimum=(given["minimum"],) * lanes,
            maximum=(given["maximum"],) * lanes,
        )

    def _remote_credit(self, ends: int) -> RemoteCredit:
        """Return golden's credit counters of the far ends. Flow-control packets need twice as many ends."""
        given = self.parameters
        if not self._credit.by_fcps:
            return self._rooms(ends)
        return new_limits(
            end_count=2 * ends,
            whole=(given["minimum"],) * given["data_vls"],
            fcp_blocks=given["fcp_blocks"] or None,
            period=given["fcp_period"],
            sideband=False,
            flight=1,
        )

    def _enter(self, index: int) -> None:
        """Draw tables, reset golden, and queue the table writes for the first rows."""
        given, source = self.parameters, self.source
        ports, lanes = given["ports"], given["data_vls"]
        for ago in (2, 1):  # the reset does not cancel earlier writes
            apply_write(self._around, int(self._around.regs[CLOCK]) - ago)
        name = given["scheduler"]
        drawn_writes = stimulus(name).drawn_writes
        tables = [drawn_writes(lanes, given["entries"], source) for _ in range(ports)]
        self._started = self.decisions
        self._boot = [
            top_write(given["lids"]),
            *self.draw_marking(),
            *schedule_writes(name, tables, line_rate=given["line_rate"]),
        ]
        if index == 0:
            self._lft[1:] = [1 + source.randrange(ports) for _ in range(1, given["lids"])]
            self._boot += lft_writes(self._lft) + self.draw_maps()
        self._boot += [{}] * (self.phases[index].settle - len(self._boot))
        self._around = self._environment(tables)

    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        phase: SwitchPhase = self.phases[index]
        boot_rows = min(len(rows), len(self._boot))
        chances = np.array(
            [
                phase.send,
                phase.receive,
                phase.least_blocks,
                phase.most_blocks,
                phase.hot,
                phase.write,
                phase.bad,
                phase.reckless,
                phase.stall,
                phase.gap if self.pauses else 0,
            ],
            np.int64,
        )
        for part, drawn in ((slice(0, boot_rows), np.zeros_like(chances)), (slice(boot_rows, None), chances)):
            fill_rows(
                self._around,
                drawn,
                self._bits,
                self._words,
                self._ins,
                self._outs,
                rows[part],
                expected[part],
                rules,
                EventLog(self.happened.before, self.happened.words[part]),
            )
        put_writes(self._inputs, self._boot[:boot_rows], rows[:boot_rows])
        del self._boot[:boot_rows]
        if self._done + len(rows) == phase.cycles:
            self._inputs["rst"].put(rows[-1:], 1)
