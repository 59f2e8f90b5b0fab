"""Study files: a network, its buffers and schedulers, the traffic, and which runs to make (``docs/network.md``)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from vlane.credits.credit_schemes import CREDIT_SCHEMES
from vlane.egress import MAX_SCHEDULER_VLS
from vlane.errors import InputError
from vlane.packets.fcp import CREDIT_CAP, MAX_FCP_PERIOD
from vlane.rates import DEFAULT_RATE, LinkClock, rate_of
from vlane.schedulers.registry import DEFAULT, SCHEDULERS
from vlane.study.congestion import CongestionSection, check_congestion
from vlane.study.connections import AdmissionSection, ConnectionsSection, check_admission
from vlane.study.events import Loss, Rewrite, Stall
from vlane.study.networks import Name, Net, Section, vls_per_sl
from vlane.study.swap import Swap
from vlane.study.traffic import PacketTrace, Traffic, check_loads
from vlane.study.voqsw import VOQswSection
from vlane.switches.switch_kinds import MOST_ITERATIONS, MOST_SPEED, SWITCH_KINDS, SwitchKind
from vlane.tables.sc import SC_COUNT
from vlane.tables.sl2vl import SL_COUNT, VL_DROP
from vlane.units import MAX_PACKET_BLOCKS

MAX_CYCLES = 1 << 40
"""Of a run."""

_Lanes = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, max_length=MAX_SCHEDULER_VLS)]
_Row16 = Annotated[list[Annotated[int, Field(ge=0, le=VL_DROP)]], Field(min_length=SL_COUNT, max_length=SL_COUNT)]
_Row32 = Annotated[list[Annotated[int, Field(ge=0, lt=SC_COUNT)]], Field(min_length=SC_COUNT, max_length=SC_COUNT)]


class SwitchSection(Section):
    """Every switch."""

    kind: Literal["ib", "opa"] = Field("ib", description="InfiniBand's switch, or Omni-Path's.")
    allocation: Literal["turns", "fifo"] = Field(
        "turns",
        description="Who takes an output of the crossbar: inputs in turns, or a queue of requests at every output, "
        "or at every output's lane if each has its port of the crossbar.",
    )
    crossbar: Literal["multiplexed", "per_vl", "flits"] = Field(
        "multiplexed",
        description="Whether the lanes of an input share a port of the crossbar, packet by packet or flit by flit, "
        "or have one each.",
    )
    iterations: int = Field(
        1,
        ge=1,
        le=MOST_ITERATIONS,
        description="How often inputs that were refused ask again in the same cycle, the first time included.",
    )
    speed: int = Field(
        1, ge=1, le=MOST_SPEED, description="Flits that cross an InfiniBand switch in a cycle, from one input."
    )
    central_blocks: int | None = Field(
        None, ge=1, le=1 << 20, description="Blocks of 64 bytes of an Omni-Path switch's central buffer."
    )
    central_minimum_blocks: int | _Lanes | None = Field(
        None, description="Blocks of it that each lane has for itself; as buffers.minimum_blocks unless given."
    )
    central_maximum_blocks: int | _Lanes | None = Field(
        None, description="Most blocks of it that a lane may take; as buffers.maximum_blocks unless given."
    )

    @property
    def record(self) -> SwitchKind:
        """What the kind of switch can do."""
        return SWITCH_KINDS[self.kind]


class Link(Section):
    """Every cable and port."""

    flight_cycles: int = Field(
        1, ge=1, le=64, description="Cycles that a flit takes from one end of a cable to the other."
    )
    flit_bytes: Literal[8, 16, 32, 64] = Field(64, description="Bytes that a link carries in a cycle.")
    data_vls: int | None = Field(
        None,
        ge=1,
        le=MAX_SCHEDULER_VLS,
        description="Data lanes of every port; without it as many as the maps of levels need.",
    )
    vl_of_sl: _Row16 | None = Field(None, description="Lane of each of the 16 SLs; 15 drops the packet.")
    sc_of_sl: _Row32 | None = Field(None, description="Channel of each of Omni-Path's 32 levels.")
    vl_of_sc: _Row32 | None = Field(None, description="Lane of each of Omni-Path's 32 channels.")
    credits: Literal["returns", "fcp", "sideband"] = Field(
        "returns",
        description="How senders learn of room: at once, or by flow-control packets on the link or beside it.",
    )
    fcp_blocks: int | None = Field(
        None,
        ge=1,
        le=CREDIT_CAP,
        description="Growth of a limit after which a flow-control packet is due; else a quarter of the room.",
    )
    fcp_period_cycles: int = Field(
        1024, ge=2, le=MAX_FCP_PERIOD, description="Period after which flow-control packets of all lanes are due."
    )
    rate_gbps: float | str = Field(
        DEFAULT_RATE, description="Data rate of every link, in Gb/s or by name, as EDR 4X: what a cycle is in time."
    )

    @field_validator("rate_gbps", mode="before")
    @classmethod
    def _check_rate(cls, given: object) -> object:
        rate_of(given, "")
        return given

    @property
    def clock(self) -> LinkClock:
        """What a cycle, in which a link carries one flit, is in time."""
        return LinkClock(rate_of(self.rate_gbps), self.flit_bytes)


class CableSection(Section):
    """Cables that are not as ``[link]`` says: that of a switch's port, or those of some hosts."""

    switch: int | None = Field(None, ge=0, description="Number of a switch at one end.")
    port: int | None = Field(None, ge=1, description="Number of that switch's port, from 1.")
    hosts: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] | None = Field(
        None, description="Numbers of the hosts whose cables are meant, instead of a port."
    )
    flight_cycles: int | None = Field(
        None, ge=1, le=64, description="Cycles from one end to the other; those of [link] unless given."
    )
    relative_rate: float = Field(
        1.0, ge=1 / 64, le=1, description="Rate of the cable as a part of the rate of the links, 1/64 to 1."
    )

    @model_validator(mode="after")
    def _check(self) -> CableSection:
        if (self.hosts is None) == (self.switch is None):
            raise InputError(
                "hosts", "given, or switch and port", "missing" if self.hosts is None else "given with switch"
            )
        if (self.switch is None) != (self.port is None):
            must = "given with switch" if self.port is None else "left out without switch"
            raise InputError("port", must, "missing" if self.port is None else "given")
        if not self.model_fields_set & {"flight_cycles", "relative_rate"}:
            raise InputError("flight_cycles", "given, or relative_rate", "missing")
        return self


class BufferSection(Section):
    """Input and output buffers of switches and NICs."""

    blocks: int = Field(1792, ge=1, le=1 << 20, description="Blocks of 64 bytes of every buffer.")
    minimum_blocks: int | _Lanes | None = Field(
        None, description="Blocks that each lane has for itself: one number for all lanes, or a list."
    )
    maximum_blocks: int | _Lanes | None = Field(
        None, description="Most blocks that a lane may take: one number for all lanes, or a list."
    )
    largest_blocks: int | None = Field(
        None,
        ge=1,
        le=MAX_PACKET_BLOCKS,
        description="Blocks of the largest packet that may come; without it those of the traffic's largest.",
    )
    nic_blocks: int | None = Field(
        None, ge=1, le=1 << 20, description="Blocks of the buffer that a NIC sends from; as of all others unless given."
    )
    nic_minimum_blocks: int | _Lanes | None = Field(None, description="As minimum_blocks, of the NICs' buffers.")
    nic_maximum_blocks: int | _Lanes | None = Field(None, description="As maximum_blocks, of the NICs' buffers.")


class Scheduler(Section):
    """Egress scheduler of every port."""

    name: Literal[tuple(SCHEDULERS)] = Field(DEFAULT, description="The scheduler.")  # type: ignore[valid-type]
    table: Name | None = Field(None, description="A table file beside the study, with the scheduler's section.")
    parameters: dict[str, int | bool | str] = Field(
        {}, description="Parameters of the scheduler, as --param gives them."
    )


class Measures(Section):
    """What is measured beyond service levels and links."""

    flows: bool = Field(default=False, description="A table of every source, destination and SL, too.")
    sources: bool = Field(default=False, description="How evenly the hosts share what is received of a level.")
    apart: list[Annotated[int, Field(ge=0)]] = Field(
        [], description="Hosts whose packets are counted as SL + 16, apart from those to others; InfiniBand's."
    )


class Runs(Section):
    """Which runs are made: every load with every seed."""

    loads: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)] = Field(
        [1.0], description="Offered loads, in flits per cycle and host; a run is made for each."
    )
    seeds: Annotated[list[Annotated[int, Field(ge=0, lt=1 << 32)]], Field(min_length=1)] = Field(
        [1], description="Seeds of the traffic; every load is run with each."
    )
    cycles: int = Field(50_000, ge=100, le=MAX_CYCLES, description="Cycles of a run, the warm-up included.")
    warm_up_cycles: int = Field(10_000, ge=0, description="Cycles before anything is measured.")
    stuck_cycles: int = Field(
        100_000, ge=1000, description="Cycles without a moving flit after which the network is called stuck."
    )
    precision: float | None = Field(
        None, gt=0, lt=1, description="Runs go on until the 95 % interval of each mean is at most this share of it."
    )
    most_cycles: int | None = Field(None, ge=100, le=MAX_CYCLES, description="Most cycles of a run with a precision.")

    @property
    def longest_cycles(self) -> int:
        """Cycles that a run with a precision has at most; without ``most_cycles`` 64 times as many are measured."""
        return self.most_cycles or min(MAX_CYCLES, self.cycles + 63 * (self.cycles - self.warm_up_cycles))

    @field_validator("loads", "seeds")
    @classmethod
    def _once(cls, values: list[float]) -> list[float]:
        first: dict[float, int] = {}
        for place, value in enumerate(values):
            if first.setdefault(value, place) != place:
                raise InputError(str(place), f"other than all before it, as that at {first[value]}", value)
        return values

    @model_validator(mode="after")
    def _check(self) -> Runs:
        if self.warm_up_cycles >= self.cycles:
            if "warm_up_cycles" in self.model_fields_set:
                raise InputError("warm_up_cycles", f"below cycles, {self.cycles}", self.warm_up_cycles)
            raise InputError("cycles", f"above warm_up_cycles, {self.warm_up_cycles} unless given", self.cycles)
        if self.most_cycles is not None:
            if self.precision is None:
                raise InputError("most_cycles", "left out without precision", "given")
            if self.most_cycles < self.cycles:
                raise InputError("most_cycles", f"at least cycles, {self.cycles}", self.most_cycles)
        return self


class Study(Section):
    """A whole study."""

    network: Net
    switch: SwitchSection = Field(default_factory=lambda: SwitchSection.model_validate({}))
    link: Link = Field(default_factory=lambda: Link.model_validate({}))
    cable: list[CableSection] = Field(default_factory=list)
    voqsw: VOQswSection | None = None
    buffers: BufferSection = Field(default_factory=lambda: BufferSection.model_validate({}))
    scheduler: Scheduler = Field(default_factory=lambda: Scheduler.model_validate({}))
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

    @model_validator(mode="after")
    def _check(self) -> Study:
        if not self.traffic and self.trace is None and self.connections is None:
            raise InputError("traffic", "given, or a trace, or connections", "missing")
        has_loads = "loads" in self.run.model_fields_set
        if has_loads != bool(self.traffic):
            must = "given with traffic" if self.traffic else "left out without traffic"
            raise InputError("run.loads", must, "given" if has_loads else "missing")
        for place, load in enumerate(self.run.loads if self.traffic else ()):
            check_loads(self.traffic, load, f"run.loads.{place}")
        if self.connections is not None and self.run.precision is not None:
            raise InputError("run.precision", "left out with connections", "given")
        if not self.traffic and self.run.precision is not None:
            raise InputError("run.precision", "left out without traffic", "given")
        if self.loss and not CREDIT_SCHEMES[self.link.credits].by_fcps:
            raise InputError("loss", f"left out with link.credits {self.link.credits}", "given")
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
        """Whether each VL must have its own part of a buffer."""
        form = self.switch.record.form(self.switch.allocation, self.switch.crossbar)
        return (form is not None and form.vls_apart) or CREDIT_SCHEMES[self.link.credits].by_fcps

    def _check_switch(self, words: str) -> None:
        """Refuse what the kind of switch does not have."""
        switch, kind = self.switch, self.switch.record
        for field in ("sc_of_sl", "vl_of_sc"):
            if getattr(self.link, field) is not None and field not in kind.link_maps:
                raise InputError(f"link.{field}", f"left out {words}", "given")
        for field in ("central_blocks", "central_minimum_blocks", "central_maximum_blocks"):
            if getattr(switch, field) is not None and not kind.has_centre:
                raise InputError(f"switch.{field}", f"left out {words}", "given")
        for field in ("allocation", "crossbar"):
            values = [getattr(form, field) for form in kind.forms]
            if getattr(switch, field) not in values:
                raise InputError(f"switch.{field}", f"{values[0]} {words}", getattr(switch, field))
        form = kind.form(switch.allocation, switch.crossbar)
        if form is None:
            allocation = next(form.allocation for form in kind.forms if form.crossbar == switch.crossbar)
            must = f"{allocation} with switch.crossbar {switch.crossbar}"
            raise InputError("switch.allocation", must, switch.allocation)
        for field, most in (("iterations", form.most_iterations), ("speed", form.most_speed)):
            if getattr(switch, field) > most:
                must = form.allowed(most) if len(kind.forms) > 1 else f"{most} {words}"
                raise InputError(f"switch.{field}", must, getattr(switch, field))

    def _check_link(self, words: str) -> None:
        """Refuse maps and credits that the kind of switch does not have, and periods that do not fit the run."""
        link, kind = self.link, self.switch.record
        for field in ("credits", "fcp_blocks", "fcp_period_cycles"):
            if field in link.model_fields_set and len(kind.credits) == 1:
                raise InputError(f"link.{field}", f"left out {words}", "given")
        if link.vl_of_sl is not None and "vl_of_sl" not in kind.link_maps:
            raise InputError("link.vl_of_sl", f"left out {words}", "given")
        by_fcps = CREDIT_SCHEMES[link.credits].by_fcps
        for field in ("fcp_blocks", "fcp_period_cycles"):
            if field in link.model_fields_set and not by_fcps:
                raise InputError(f"link.{field}", f"left out with link.credits {link.credits}", "given")
        if by_fcps and self.run.stuck_cycles <= link.fcp_period_cycles:
            if "stuck_cycles" in self.run.model_fields_set:
                must = f"more than link.fcp_period_cycles, {link.fcp_period_cycles}"
                raise InputError("run.stuck_cycles", must, self.run.stuck_cycles)
            must = f"less than run.stuck_cycles, {self.run.stuck_cycles} unless given"
            raise InputError("link.fcp_period_cycles", must, link.fcp_period_cycles)

    def _check_voqsw(self, words: str) -> None:
        """Refuse tables that are planned where others are given, and traffic with levels of its own beside them."""
        if self.measure.apart and self.switch.record.by_channel:
            raise InputError("measure.apart", f"left out {words}", "given")
        if self.voqsw is None:
            return
        if self.switch.record.by_channel:
            raise InputError("voqsw", f"left out {words}, whose tables are by channel", "given")
        if self.network.topology == "fabric":
            raise InputError("voqsw", "left out with a captured fabric, which has its own tables", "given")
        if self.link.vl_of_sl is not None:
            raise InputError("link.vl_of_sl", "left out with [voqsw], which makes the tables", "given")
        if self.link.data_vls is not None and self.link.data_vls < self.voqsw.vls:
            raise InputError("link.data_vls", f"at least voqsw.vls, {self.voqsw.vls}", self.link.data_vls)
        if self.trace is not None:
            raise InputError("trace", "left out with [voqsw], whose packets have the SL of their path", "given")
        for number, each in enumerate(self.traffic):
            if each.sl != "path":
                raise InputError(f"traffic.{number}.sl", "path with [voqsw]", each.sl)

    def _check_levels(self, words: str) -> None:
        """Refuse a network, VLs and service levels that the kind of switch does not take."""
        link, kind = self.link, self.switch.record
        if self.network.topology == "fabric":
            if not kind.takes_captured:
                must = "ib with a captured fabric, whose tables are InfiniBand's"
                raise InputError("switch.kind", must, kind.name)
        elif kind.by_channel and vls_per_sl(self.network.routing) > 1:
            for field in kind.link_maps:
                if getattr(link, field) is not None:
                    raise InputError(f"link.{field}", f"left out with network.routing {self.network.routing}", "given")
        if link.data_vls is not None and link.data_vls > kind.most_vls:
            raise InputError("link.data_vls", f"1 to {kind.most_vls} {words}", link.data_vls)
        for number, each in enumerate(self.traffic):
            if isinstance(each.sl, int) and each.sl >= kind.levels:
                raise InputError(f"traffic.{number}.sl", f"0 to {kind.levels - 1} {words}", each.sl)
