"""Study files: a network, its buffers and schedulers, the traffic, and which runs to make (``docs/network.md``)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vlane.egress import MAX_SCHEDULER_VLS
from vlane.errors import InputError
from vlane.fcp import CREDIT_CAP, MAX_FCP_PERIOD
from vlane.lft import UNASSIGNED
from vlane.sc import SC_COUNT
from vlane.sl2vl import SL_COUNT, VL_DROP
from vlane.textfile import toml_document
from vlane.units import MAX_PACKET_BLOCKS, MAX_PACKET_BYTES
from vlane.vlarb import MAX_DATA_VLS

__all__ = ["MAX_CYCLES", "Study", "Traffic", "read_study"]

MAX_CYCLES = 1 << 30
"""Of a run."""

_Lanes = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, max_length=MAX_SCHEDULER_VLS)]
_Row16 = Annotated[list[Annotated[int, Field(ge=0, le=VL_DROP)]], Field(min_length=SL_COUNT, max_length=SL_COUNT)]
_Row32 = Annotated[list[Annotated[int, Field(ge=0, lt=SC_COUNT)]], Field(min_length=SC_COUNT, max_length=SC_COUNT)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TreeNetwork(_Section):
    """A k-ary n-tree."""

    topology: Literal["tree"]
    k: int = Field(ge=2)
    n: int = Field(ge=1)
    routing: Literal["dmodk", "valiant", "updown"] = "dmodk"


class TorusNetwork(_Section):
    """A torus."""

    topology: Literal["torus"]
    size: list[int]
    hosts_per_switch: int = 1
    trunks: int = 1
    routing: Literal["dor", "updown"] = "dor"


class IrregularNetwork(_Section):
    """A random network."""

    topology: Literal["irregular"]
    switches: int
    ports: int
    hosts_per_switch: int
    seed: int = 1
    routing: Literal["updown"] = "updown"
    root: int = 0


class DumbbellNetwork(_Section):
    """Two switches."""

    topology: Literal["dumbbell"]
    left: int
    right: int
    trunks: int = 1
    routing: Literal["updown"] = "updown"


class EdgesNetwork(_Section):
    """An edge list in a file beside the study."""

    topology: Literal["edges"]
    file: str
    routing: Literal["updown"] = "updown"
    root: int = 0


class FabricNetwork(_Section):
    """A captured fabric in a folder beside the study, with its own tables."""

    topology: Literal["fabric"]
    folder: str


Net = Annotated[
    TreeNetwork | TorusNetwork | IrregularNetwork | DumbbellNetwork | EdgesNetwork | FabricNetwork,
    Field(discriminator="topology"),
]


class SwitchKind(_Section):
    """Every switch."""

    kind: Literal["ib", "opa"] = "ib"
    allocation: Literal["turns", "fifo"] = "turns"
    crossbar: Literal["multiplexed", "per_vl"] = "multiplexed"
    central_blocks: int | None = Field(None, ge=1, le=1 << 20)


class Link(_Section):
    """Every cable and port."""

    flight_cycles: int = Field(1, ge=1, le=64)
    flit_bytes: Literal[8, 16, 32, 64] = 64
    data_vls: int | None = Field(None, ge=1, le=MAX_SCHEDULER_VLS)
    vl_of_sl: _Row16 | None = None
    sc_of_sl: _Row32 | None = None
    vl_of_sc: _Row32 | None = None
    credits: Literal["returns", "fcp", "sideband"] = "returns"
    fcp_blocks: int | None = Field(None, ge=1, le=CREDIT_CAP)
    fcp_period_cycles: int = Field(1024, ge=2, le=MAX_FCP_PERIOD)
    bytes_per_second: float = Field(12.5e9, gt=0)

    @property
    def cycle_ns(self) -> float:
        """Nanoseconds of a cycle, in which a link carries one flit."""
        return 1e9 * self.flit_bytes / self.bytes_per_second


class BufferSizes(_Section):
    """Input and output buffers of switches and NICs."""

    blocks: int = Field(1792, ge=1, le=1 << 20)
    minimum_blocks: int | _Lanes | None = None
    maximum_blocks: int | _Lanes | None = None
    largest_blocks: int | None = Field(None, ge=1, le=MAX_PACKET_BLOCKS)


class Scheduler(_Section):
    """Egress scheduler of every port."""

    name: Literal["vlarb", "dtable", "drr", "scfq", "rr"] = "rr"
    table: str | None = None
    parameters: dict[str, int | bool | str] = {}


class Traffic(_Section):
    """One class of traffic, at every host."""

    sl: Annotated[int, Field(ge=0, lt=SC_COUNT)] | Literal["path"] = 0
    share: float = Field(1.0, gt=0, le=1)
    bytes: int | Annotated[list[int], Field(min_length=2, max_length=2)] = 64
    pattern: Literal["uniform", "others", "complement", "reversal", "transpose", "tornado", "neighbour"] = "uniform"
    hot_share: float = Field(0.0, ge=0, le=1)
    hot_hosts: list[Annotated[int, Field(ge=0)]] = []
    burst: int = Field(1, ge=1, le=1 << 16)
    regular: bool = False

    @property
    def sizes(self) -> tuple[int, int]:
        """Least and most bytes."""
        return (self.bytes[0], self.bytes[1]) if isinstance(self.bytes, list) else (self.bytes, self.bytes)

    @model_validator(mode="after")
    def _check(self) -> Traffic:
        least, most = self.sizes
        if not 1 <= least <= most <= MAX_PACKET_BYTES:
            raise ValueError(f"bytes must be 1 to {MAX_PACKET_BYTES}, or [least, most], not {self.bytes}")
        if self.hot_share and not self.hot_hosts:
            raise ValueError("hot_hosts must be given with hot_share, not empty")
        return self


class PacketTrace(_Section):
    """Packets that are replayed, beside the traffic or instead of it."""

    file: str


class _PortFault(_Section):
    cycle: int = Field(ge=0)
    cycles: int = Field(ge=1, le=1 << 20)
    switch: int = Field(ge=0)
    port: int = Field(ge=1)


class Stall(_PortFault):
    """A link that takes no packet for a while."""


class Loss(_PortFault):
    """Flow-control packets that a port sends and that are lost, for a while."""


class Rewrite(_Section):
    """An entry of a forwarding table that is written under traffic."""

    cycle: int = Field(ge=0)
    switch: int = Field(ge=0)
    lid: int = Field(ge=1)
    port: int = Field(ge=1, le=UNASSIGNED)


class Measures(_Section):
    """What is measured beyond service levels and links."""

    flows: bool = False


class Runs(_Section):
    """Which runs are made: every load with every seed."""

    loads: Annotated[list[Annotated[float, Field(gt=0, le=1)]], Field(min_length=1)] = [1.0]
    seeds: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] = [1]
    cycles: int = Field(50_000, ge=100, le=MAX_CYCLES)
    warm_up_cycles: int = Field(10_000, ge=0)
    stuck_cycles: int = Field(100_000, ge=1000)

    @model_validator(mode="after")
    def _check(self) -> Runs:
        if self.warm_up_cycles >= self.cycles:
            raise ValueError(f"warm_up_cycles must be below cycles, {self.cycles}, not {self.warm_up_cycles}")
        return self


class Study(_Section):
    """A whole study."""

    network: Net
    switch: SwitchKind = Field(default_factory=lambda: SwitchKind.model_validate({}))
    link: Link = Field(default_factory=lambda: Link.model_validate({}))
    buffers: BufferSizes = Field(default_factory=lambda: BufferSizes.model_validate({}))
    scheduler: Scheduler = Field(default_factory=lambda: Scheduler.model_validate({}))
    traffic: Annotated[list[Traffic], Field(max_length=32)] = []
    trace: PacketTrace | None = None
    stall: list[Stall] = []
    rewrite: list[Rewrite] = []
    loss: list[Loss] = []
    measure: Measures = Field(default_factory=Measures)
    run: Runs

    @model_validator(mode="after")
    def _check(self) -> Study:
        whole = sum(each.share for each in self.traffic)
        if self.traffic and not 0.999 <= whole <= 1.001:
            raise ValueError(f"shares of the traffic must be 1 in all, not {whole:g}")
        if not self.traffic and self.trace is None:
            raise ValueError("traffic must be given, or a trace, not missing")
        has_loads = "loads" in self.run.model_fields_set
        if has_loads != bool(self.traffic):
            must = "given with traffic" if self.traffic else "left out without traffic"
            raise ValueError(f"run.loads must be {must}, not {'given' if has_loads else 'missing'}")
        if self.loss and self.link.credits == "returns":
            raise ValueError("loss must be left out with link.credits returns, not given")
        if self.switch.kind == "opa":
            self._check_opa()
        else:
            self._check_ib()
        return self

    @property
    def in_parts(self) -> bool:
        """Whether each VL must have its own part of a buffer."""
        return self.switch.crossbar == "per_vl" or self.link.credits != "returns"

    def _check_ib(self) -> None:
        for field in ("sc_of_sl", "vl_of_sc"):
            if getattr(self.link, field) is not None:
                raise ValueError(f"link.{field} must be left out with switch.kind ib, not given")
        if self.switch.central_blocks is not None:
            raise ValueError("switch.central_blocks must be left out with switch.kind ib, not given")
        if self.switch.crossbar == "per_vl" and self.switch.allocation != "turns":
            raise ValueError(
                f"switch.allocation must be turns with switch.crossbar per_vl, not {self.switch.allocation}"
            )
        for field in ("fcp_blocks", "fcp_period_cycles"):
            if field in self.link.model_fields_set and self.link.credits == "returns":
                raise ValueError(f"link.{field} must be left out with link.credits returns, not given")
        if self.link.credits != "returns" and self.run.stuck_cycles <= self.link.fcp_period_cycles:
            must = f"more than link.fcp_period_cycles, {self.link.fcp_period_cycles}"
            raise ValueError(f"run.stuck_cycles must be {must}, not {self.run.stuck_cycles}")
        if self.link.data_vls is not None and self.link.data_vls > MAX_DATA_VLS:
            raise ValueError(f"link.data_vls must be 1 to {MAX_DATA_VLS} with switch.kind ib, not {self.link.data_vls}")
        for number, each in enumerate(self.traffic):
            if isinstance(each.sl, int) and each.sl >= SL_COUNT:
                raise ValueError(f"traffic.{number}.sl must be 0 to 15 with switch.kind ib, not {each.sl}")

    def _check_opa(self) -> None:
        if self.switch.allocation != "turns":
            raise ValueError(f"switch.allocation must be turns with switch.kind opa, not {self.switch.allocation}")
        if self.switch.crossbar != "multiplexed":
            raise ValueError(f"switch.crossbar must be multiplexed with switch.kind opa, not {self.switch.crossbar}")
        for field in ("credits", "fcp_blocks", "fcp_period_cycles"):
            if field in self.link.model_fields_set:
                raise ValueError(f"link.{field} must be left out with switch.kind opa, not given")
        if self.link.vl_of_sl is not None:
            raise ValueError("link.vl_of_sl must be left out with switch.kind opa, not given")
        if self.network.topology == "fabric":
            raise ValueError("switch.kind must be ib with a captured fabric, whose tables are InfiniBand's, not opa")
        if self.network.routing == "dor" and (self.link.sc_of_sl or self.link.vl_of_sc):
            raise ValueError("link.sc_of_sl and vl_of_sc must be left out with routing dor, not given")


def read_study(path: Path) -> Study:
    """Return a study file.

    Raises
    ------
    InputError
        If the file cannot be read or parsed, has an unknown or missing key, or a value is out of range.
    """
    document = toml_document(path, "study file")
    try:
        return Study.model_validate(document)
    except ValidationError as error:
        raise _refusal(error.errors()[0], path) from None


def _refusal(first: Any, path: Path) -> InputError:
    field = ".".join(str(part) for part in first["loc"]) or "study"
    kind, context = first["type"], first.get("ctx", {})
    if kind == "extra_forbidden":
        return InputError(field, "a known key", "unknown", source=str(path))
    if kind == "missing":
        return InputError(field, "given", "missing", source=str(path))
    if kind == "value_error":
        said, _, got = str(context["error"]).rpartition(", not ")
        name, _, must = said.partition(" must be ")
        return InputError(f"{field}: {name}", must, got, source=str(path))
    must = first["msg"].removeprefix("Input should be ").removeprefix("Input tag ")
    return InputError(field, must, first["input"], source=str(path))
