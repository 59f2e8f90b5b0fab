"""Study files: network, buffers, schedulers, traffic, and the runs to make (``docs/network.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model, field_validator, model_validator

from vlane.credits.credit_schemes import CREDIT_SCHEMES, RETURNS
from vlane.egress import MAX_SCHEDULER_VLS
from vlane.errors import InputError, misplaced, missing_value, shown
from vlane.packets.fcp import CREDIT_CAP, MAX_FCP_PERIOD
from vlane.rates import DEFAULT_RATE, LinkClock, rate_of
from vlane.schedulers.registry import DEFAULT, LINE_RATE, SCHEDULERS
from vlane.schedulers.table_files import table_model
from vlane.study.congestion import CongestionSection, check_congestion
from vlane.study.connections import AdmissionSection, ConnectionsSection, check_admission
from vlane.study.events import Loss, Rewrite, Stall
from vlane.study.networks import Name, Net, Section, trunk_choice_of, vls_per_sl
from vlane.study.swap import Swap
from vlane.study.traffic import NicSection, PacketTrace, Traffic, check_loads
from vlane.study.voqsw import VOQswSection
from vlane.switches.switch_kinds import MOST_ITERATIONS, MOST_SPEED, SWITCH_KINDS, SwitchKind
from vlane.tables.sc import SC_COUNT
from vlane.tables.sl2vl import SL_COUNT, VL_DROP
from vlane.units import MAX_PACKET_BLOCKS

MAX_CYCLES = 1 << 40
"""Largest number of cycles of a run."""

_Lanes = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, max_length=MAX_SCHEDULER_VLS)]
_Row16 = Annotated[list[Annotated[int, Field(ge=0, le=VL_DROP)]], Field(min_length=SL_COUNT, max_length=SL_COUNT)]
_Row32 = Annotated[list[Annotated[int, Field(ge=0, lt=SC_COUNT)]], Field(min_length=SC_COUNT, max_length=SC_COUNT)]


class SwitchSection(Section):
    """Settings of all switches."""

    kind: Literal["ib", "opa"] = Field("ib", description="Switch kind: InfiniBand (ib) or Omni-Path (opa).")
    allocation: Literal["turns", "fifo", "bids"] = Field(
        "turns",
        description="Allocation of crossbar outputs: round robin among inputs (turns), a request queue per output, or "
        "per output and lane with crossbar per_vl (fifo), or bids of inputs with decisions in stages (bids).",
    )
    crossbar: Literal["multiplexed", "per_vl", "flits"] = Field(
        "multiplexed",
        description="Crossbar input ports: shared by the lanes of an input, per packet (multiplexed) or per flit "
        "(flits), or one per lane (per_vl, InfiniBand only).",
    )
    iterations: int = Field(
        1,
        ge=1,
        le=MOST_ITERATIONS,
        description="Iterations of the allocation per cycle; rejected inputs request again in each.",
    )
    speed: int = Field(1, ge=1, le=MOST_SPEED, description="Flits per cycle and input through an InfiniBand switch.")
    central_blocks: int | None = Field(
        None, ge=1, le=1 << 20, description="Size of an Omni-Path switch's central buffer in blocks of 64 bytes."
    )
    central_minimum_blocks: int | _Lanes | None = Field(
        None, description="Blocks of the central buffer reserved per lane. [default: buffers.minimum_blocks]"
    )
    central_maximum_blocks: int | _Lanes | None = Field(
        None, description="Largest number of central buffer blocks per lane. [default: buffers.maximum_blocks]"
    )

    @property
    def record(self) -> SwitchKind:
        """Properties of the switch kind."""
        return SWITCH_KINDS[self.kind]


class Link(Section):
    """Settings of all cables and ports."""

    flight_cycles: int = Field(1, ge=1, le=64, description="Cycles of a flit from one end of a cable to the other.")
    flit_bytes: Literal[8, 16, 32, 64] = Field(64, description="Bytes per cycle of a link.")
    data_vls: int | None = Field(
        None,
        ge=1,
        le=MAX_SCHEDULER_VLS,
        description="Data lanes of every port. [default: as many as the SL and SC maps use]",
    )
    vl_of_sl: _Row16 | None = Field(None, description="Lane of each of the 16 SLs; 15: drop the packet.")
    sc_of_sl: _Row32 | None = Field(None, description="Service channel of each of Omni-Path's 32 SLs.")
    vl_of_sc: _Row32 | None = Field(None, description="Lane of each of Omni-Path's 32 service channels.")
    credits: Literal["returns", "fcp", "sideband"] = Field(
        "returns",
        description="Return of credits: directly (returns), or by flow-control packets on the link (fcp) or beside it "
        "(sideband).",
    )
    fcp_blocks: int | None = Field(
        None,
        ge=1,
        le=CREDIT_CAP,
        description="Growth of a credit limit that triggers a flow-control packet. [default: a quarter of the lane's "
        "buffer]",
    )
    fcp_period_cycles: int = Field(
        1024, ge=2, le=MAX_FCP_PERIOD, description="Period of flow-control packets of all lanes."
    )
    rate_gbps: float | str = Field(
        DEFAULT_RATE,
        description="Data rate of every link, in Gb/s or as a name such as EDR 4X; defines the duration of a cycle.",
    )

    @field_validator("rate_gbps", mode="before")
    @classmethod
    def _check_rate(cls, given: object) -> object:
        rate_of(given, "")
        return given

    @property
    def clock(self) -> LinkClock:
        """Duration of a cycle, in which a link carries one flit."""
        return LinkClock(rate_of(self.rate_gbps), self.flit_bytes)


class CableSection(Section):
    """Cables that differ from ``[link]``: that of a switch port, or those of some hosts."""

    switch: int | None = Field(None, ge=0, description="Number of the switch at one end.")
    port: int | None = Field(None, ge=1, description="Number of the switch's port, from 1.")
    hosts: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] | None = Field(
        None, description="Numbers of the hosts at the cables; replaces switch and port."
    )
    flight_cycles: int | None = Field(
        None, ge=1, le=64, description="Cycles from one end to the other. [default: those of [link]]"
    )
    relative_rate: float = Field(
        1.0, ge=1 / 64, le=1, description="Rate of the cable relative to the rate of the links, 1/64 to 1."
    )

    @model_validator(mode="after")
    def _check(self) -> CableSection:
        if (self.hosts is None) == (self.switch is None):
            if self.hosts is None:
                raise missing_value("hosts", "give hosts, or switch and port")
            raise misplaced("hosts", "with switch: give hosts, or switch and port")
        if (self.switch is None) != (self.port is None):
            if self.port is None:
                raise missing_value("port", "it is required with switch")
            raise misplaced("port", "without switch")
        if not self.model_fields_set & {"flight_cycles", "relative_rate"}:
            raise missing_value("flight_cycles", "give flight_cycles or relative_rate")
        return self


class BufferSection(Section):
    """Input and output buffers of switches and NICs."""

    blocks: int = Field(1792, ge=1, le=1 << 20, description="Size of every buffer in blocks of 64 bytes.")
    minimum_blocks: int | _Lanes | None = Field(
        None, description="Blocks reserved per lane: one number for all lanes, or a list."
    )
    maximum_blocks: int | _Lanes | None = Field(
        None, description="Largest number of blocks per lane: one number for all lanes, or a list."
    )
    largest_blocks: int | None = Field(
        None,
        ge=1,
        le=MAX_PACKET_BLOCKS,
        description="Blocks of the largest packet. [default: blocks of the traffic's largest packet]",
    )
    nic_blocks: int | None = Field(
        None, ge=1, le=1 << 20, description="Size of a NIC's send buffer in blocks. [default: blocks]"
    )
    nic_minimum_blocks: int | _Lanes | None = Field(None, description="minimum_blocks of the NICs' send buffers.")
    nic_maximum_blocks: int | _Lanes | None = Field(None, description="maximum_blocks of the NICs' send buffers.")


class _SchedulerKeys(Section):
    """Egress scheduler of all ports."""

    name: Literal[tuple(SCHEDULERS)] = Field(DEFAULT, description="Name of the scheduler.")  # type: ignore[valid-type]
    table: Name | None = Field(None, description="Table file with the scheduler's section, relative to the study.")
    parameters: dict[str, int | bool | str] = Field({}, description="Parameters of the scheduler, as in --param.")

    @property
    def tables(self) -> dict[str, dict[str, Any]]:
        """Sections of a table file that the study itself contains, by name."""
        content = self.model_dump(exclude_none=True)
        return {name: keys for name, keys in content.items() if name not in _SchedulerKeys.model_fields}

    @model_validator(mode="after")
    def _check_table(self) -> _SchedulerKeys:
        if self.table is not None and self.tables:
            raise misplaced("table", f"with [scheduler.{min(self.tables)}]: give a file or sections")
        return self


def with_tables(section: type[_SchedulerKeys]) -> Any:
    """Return a section that also accepts the sections of a table file, of vlane's schedulers and of loaded plug-ins."""
    fields: dict[str, Any] = {
        name: (field.annotation, None)
        for name, field in table_model().model_fields.items()
        if name not in section.model_fields
    }
    return create_model("Scheduler", __base__=section, __doc__=section.__doc__, **fields)


if TYPE_CHECKING:
    Scheduler = _SchedulerKeys
else:
    Scheduler = with_tables(_SchedulerKeys)


class Measures(Section):
    """Measurements in addition to service levels and links."""

    flows: bool = Field(default=False, description="Add a table of every source, destination and SL.")
    histograms: bool = Field(
        default=False, description="Add a table of latency histograms: of every SL, with flows also of every flow."
    )
    sources: bool = Field(default=False, description="Add the fairness of hosts in the received traffic of an SL.")
    every: int | None = Field(
        None,
        ge=1,
        description="Add tables over time: a sample of every SL and every link each so many cycles. [default: none]",
    )
    apart: list[Annotated[int, Field(ge=0)]] = Field(
        [], description="Destination hosts whose packets are counted separately, as SL + 16; InfiniBand only."
    )


_MOST_SEEDS = 100_000


def _seeds_of(text: str) -> range:
    """Return the numbers of a range FIRST..LAST, both included."""
    first, dots, last = text.partition("..")
    is_range = dots and all(word.isascii() and word.isdecimal() for word in (first, last))
    if not is_range or not 0 <= int(last) - int(first) < _MOST_SEEDS:
        raise InputError("", f"numbers, or a range FIRST..LAST of at most {_MOST_SEEDS} seeds", text)
    return range(int(first), int(last) + 1)


class Runs(Section):
    """Runs of the study: every load with every seed."""

    loads: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)] = Field(
        [1.0], description="Offered loads in flits per cycle and host, with a run for each."
    )
    seeds: Annotated[list[Annotated[int, Field(ge=0, lt=1 << 32)]], Field(min_length=1)] = Field(
        [1], description='Seeds of the traffic, with a run for each load and seed; "1..30" for 30 of them.'
    )
    cycles: int = Field(50_000, ge=100, le=MAX_CYCLES, description="Cycles of a run including the warm-up.")
    warm_up_cycles: int = Field(10_000, ge=0, description="Cycles before the measurement.")
    stuck_cycles: int = Field(
        100_000, ge=1000, description="Cycles without a moving flit after which the network counts as stuck."
    )
    precision: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Relative half width of each mean's 95 % interval; runs continue until it is reached.",
    )
    most_cycles: int | None = Field(
        None, ge=100, le=MAX_CYCLES, description="Largest number of cycles of a run with a precision."
    )

    @property
    def longest_cycles(self) -> int:
        """Largest number of cycles of a run with a precision.

        By default, the run measures at most 64 times as many cycles as without.
        """
        return self.most_cycles or min(MAX_CYCLES, self.cycles + 63 * (self.cycles - self.warm_up_cycles))

    @field_validator("seeds", mode="before")
    @classmethod
    def _ranges(cls, given: object) -> object:
        """Return the seeds with each range, such as ``"1..30"``, replaced by its numbers."""
        words = [given] if isinstance(given, str) else given
        if not isinstance(words, list) or not any(isinstance(word, str) for word in words):
            return given
        return [seed for word in words for seed in (_seeds_of(word) if isinstance(word, str) else [word])]

    @field_validator("loads", "seeds")
    @classmethod
    def _once(cls, values: list[float]) -> list[float]:
        first: dict[float, int] = {}
        for place, value in enumerate(values):
            if first.setdefault(value, place) != place:
                raise InputError(str(place), "another value", value, problem=f": {shown(value)} is repeated")
        return values

    @model_validator(mode="after")
    def _check(self) -> Runs:
        if self.warm_up_cycles >= self.cycles:
            if "warm_up_cycles" in self.model_fields_set:
                raise InputError("warm_up_cycles", f"below cycles, {self.cycles}", self.warm_up_cycles)
            raise InputError("cycles", f"above warm_up_cycles, by default {self.warm_up_cycles}", self.cycles)
        if self.most_cycles is not None:
            if self.precision is None:
                raise misplaced("most_cycles", "without precision")
            if self.most_cycles < self.cycles:
                raise InputError("most_cycles", f"at least cycles, {self.cycles}", self.most_cycles)
        return self


class Study(Section):
    """Complete study."""

    network: Net
    switch: SwitchSection = Field(default_factory=lambda: SwitchSection.model_validate({}))
    link: Link = Field(default_factory=lambda: Link.model_validate({}))
    cable: list[CableSection] = Field(default_factory=list)
    voqsw: VOQswSection | None = None
    buffers: BufferSection = Field(default_factory=lambda: BufferSection.model_validate({}))
    scheduler: Scheduler = Field(default_factory=lambda: Scheduler.model_validate({}))
    nic: NicSection = Field(default_factory=lambda: NicSection.model_validate({}))
    traffic: Annotated[list[Traffic], Field(max_length=32)] = Field(default_factory=list)
    trace: PacketTrace | None = None
    connections: ConnectionsSection | None = None
    admission: AdmissionSection | None = None
    congestion: CongestionSection | None = None
    stall: list[Stall] = Field(default_factory=list)
    rewrite: list[Rewrite] = Field(default_factory=list)
    swap: list[Swap] = Field(default_factory=list)
    loss: list[Loss] = Field(default_factory=list)
    measure: Measures = Field(default_factory=lambda: Measures.model_validate({}))
    run: Runs

    def __reduce__(self) -> tuple[Any, ...]:
        return Study.model_validate, (self.model_dump(exclude_unset=True),)  # classes of inline tables have no module

    @model_validator(mode="after")
    def _check(self) -> Study:
        if not self.traffic and self.trace is None and self.connections is None:
            raise missing_value("traffic", "give [[traffic]], [trace] or [connections]")
        has_loads, is_open = "loads" in self.run.model_fields_set, not all(each.window for each in self.traffic)
        if has_loads != is_open:
            if is_open:
                raise missing_value("run.loads", "it is required with [[traffic]]")
            raise misplaced("run.loads", "without [[traffic]] that has a load")
        for place, load in enumerate(self.run.loads if is_open else ()):
            check_loads(self.traffic, load, f"run.loads.{place}")
        if self.connections is not None and self.run.precision is not None:
            raise misplaced("run.precision", "with [connections]")
        has_messages = any(each.in_messages for each in self.traffic)
        if has_messages and self.run.precision is not None:
            raise misplaced("run.precision", "with traffic.message_bytes")
        if "nic" in self.model_fields_set and not has_messages:
            raise misplaced("nic", "without traffic.message_bytes")
        if not self.traffic and self.run.precision is not None:
            raise misplaced("run.precision", "without [[traffic]]")
        if self.loss and not CREDIT_SCHEMES[self.link.credits].by_fcps:
            raise misplaced("loss", f"with link.credits {self.link.credits}")
        words = f"with switch.kind {self.switch.kind}"
        self._check_switch(words)
        self._check_link(words)
        self._check_levels(words)
        self._check_voqsw(words)
        check_admission(self, words)
        check_congestion(self, words)
        return self

    @property
    def in_parts(self) -> bool:
        """Whether each VL needs a separate part of a buffer."""
        form = self.switch.record.form(self.switch.allocation, self.switch.crossbar)
        return (form is not None and form.vls_apart) or CREDIT_SCHEMES[self.link.credits].by_fcps

    def _check_switch(self, words: str) -> None:
        """Reject settings that the switch kind does not support."""
        switch, kind = self.switch, self.switch.record
        for field in ("sc_of_sl", "vl_of_sc"):
            if getattr(self.link, field) is not None and field not in kind.link_maps:
                raise misplaced(f"link.{field}", words)
        for field in ("central_blocks", "central_minimum_blocks", "central_maximum_blocks"):
            if getattr(switch, field) is not None and not kind.has_centre:
                raise misplaced(f"switch.{field}", words)
        for field in ("allocation", "crossbar"):
            values = dict.fromkeys(getattr(form, field) for form in kind.forms)
            if getattr(switch, field) not in values:
                raise InputError(f"switch.{field}", f"{' or '.join(values)} {words}", getattr(switch, field))
        form = kind.form(switch.allocation, switch.crossbar)
        if form is None:
            allocation = next(form.allocation for form in kind.forms if form.crossbar == switch.crossbar)
            must = f"{allocation} with switch.crossbar {switch.crossbar}"
            raise InputError("switch.allocation", must, switch.allocation)
        for field, most in (("iterations", form.most_iterations), ("speed", form.most_speed)):
            if getattr(switch, field) > most:
                is_limited_by_form = any(getattr(each, f"most_{field}") > 1 for each in kind.forms)
                must = form.allowed(most) if is_limited_by_form else f"{most} {words}"
                raise InputError(f"switch.{field}", must, getattr(switch, field))
        if form.late:
            self._check_late(f"with switch.allocation {switch.allocation}")

    def _check_late(self, words: str) -> None:
        """Reject settings that switches with late decisions do not support."""
        if self.link.credits != RETURNS.name:
            raise InputError("link.credits", f"{RETURNS.name} {words}", self.link.credits)
        if self.congestion is not None:
            raise misplaced("congestion", words)
        if self.scheduler.parameters.get("form") == LINE_RATE:
            raise InputError("scheduler.parameters.form", f"another form {words}", LINE_RATE)

    def _check_link(self, words: str) -> None:
        """Reject maps and credits that the switch kind does not support, and periods that do not fit the run."""
        link, kind = self.link, self.switch.record
        for field in ("credits", "fcp_blocks", "fcp_period_cycles"):
            if field in link.model_fields_set and len(kind.credits) == 1:
                raise misplaced(f"link.{field}", words)
        if link.vl_of_sl is not None and "vl_of_sl" not in kind.link_maps:
            raise misplaced("link.vl_of_sl", words)
        by_fcps = CREDIT_SCHEMES[link.credits].by_fcps
        for field in ("fcp_blocks", "fcp_period_cycles"):
            if field in link.model_fields_set and not by_fcps:
                raise misplaced(f"link.{field}", f"with link.credits {link.credits}")
        if by_fcps and self.run.stuck_cycles <= link.fcp_period_cycles:
            if "stuck_cycles" in self.run.model_fields_set:
                must = f"more than link.fcp_period_cycles, {link.fcp_period_cycles}"
                raise InputError("run.stuck_cycles", must, self.run.stuck_cycles)
            must = f"less than run.stuck_cycles, by default {self.run.stuck_cycles}"
            raise InputError("link.fcp_period_cycles", must, link.fcp_period_cycles)

    def _check_voqsw(self, words: str) -> None:
        """Reject given tables where tables are planned, and traffic with its own levels."""
        if self.measure.apart and self.switch.record.by_channel:
            raise misplaced("measure.apart", words)
        if self.voqsw is None:
            return
        if self.switch.record.by_channel:
            raise misplaced("voqsw", f"{words}, which selects VLs by channel")
        if self.network.topology == "fabric":
            raise misplaced("voqsw", "with a captured fabric, which has its own tables")
        if trunk_choice_of(self.network) != "lid":
            must = "lid with [voqsw], whose tables depend on the output"
            raise InputError("network.trunk_choice", must, trunk_choice_of(self.network))
        if self.link.vl_of_sl is not None:
            raise misplaced("link.vl_of_sl", "with [voqsw], which plans the tables")
        if self.link.data_vls is not None and self.link.data_vls < self.voqsw.vls:
            raise InputError("link.data_vls", f"at least voqsw.vls, {self.voqsw.vls}", self.link.data_vls)
        if self.trace is not None:
            raise misplaced("trace", "with [voqsw], which assigns an SL to each path")
        for number, each in enumerate(self.traffic):
            for field, sl in (("sl", each.sl), ("reply.sl", each.reply_sl)):
                if sl != "path":
                    raise InputError(f"traffic.{number}.{field}", "path with [voqsw]", sl)

    def _check_levels(self, words: str) -> None:
        """Reject a network, VLs and service levels that the switch kind does not support."""
        link, kind = self.link, self.switch.record
        if self.network.topology == "fabric":
            if not kind.takes_captured:
                must = "ib with a captured fabric, whose tables are InfiniBand's"
                raise InputError("switch.kind", must, kind.name)
        elif kind.by_channel and vls_per_sl(self.network.routing) > 1:
            for field in kind.link_maps:
                if getattr(link, field) is not None:
                    raise misplaced(f"link.{field}", f"with network.routing {self.network.routing}")
        if link.data_vls is not None and link.data_vls > kind.most_vls:
            raise InputError("link.data_vls", f"1 to {kind.most_vls} {words}", link.data_vls)
        for number, each in enumerate(self.traffic):
            for field, sl in (("sl", each.sl), ("reply.sl", each.reply_sl)):
                if isinstance(sl, int) and sl >= kind.levels:
                    raise InputError(f"traffic.{number}.{field}", f"0 to {kind.levels - 1} {words}", sl)
