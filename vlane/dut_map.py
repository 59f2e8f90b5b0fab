"""Map files: assign the ports of a user's RTL to ports of a block, and describe its timing (``docs/your_rtl.md``)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from vlane.documents.document import key_of, read_document
from vlane.documents.refusal import checked
from vlane.errors import InputError, misplaced, missing_value

MAX_LATENCY = 64
"""Largest latency in cycles."""
MAX_WINDOW, MAX_WINDOW_EACH = 16, 8
"""Largest latency of an elastic comparison, and largest width of a window with ``lanes = "each"``."""

_Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_$]*$")]
_Wire = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_$]*(\[[0-9]{1,6}(:[0-9]{1,6})?\])?$")]
_Whole = Annotated[int, Field(ge=0)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def _short(key: str, written: Any) -> BeforeValidator:
    """Return a validator that expands a plain value to a section with one key, and a list of names to ``ports``.

    ``written`` is the type in the JSON schema.
    """

    def longer(given: Any) -> Any:
        if isinstance(given, list):
            return {f"{key}s": given}
        return {key: given} if isinstance(given, str | int) and not isinstance(given, bool) else given

    return BeforeValidator(longer, json_schema_input_type=written)


class Clock(_Section):
    """Clock of the design."""

    port: Annotated[_Name, Field(description="Clock port of the design.")]
    edge: Annotated[Literal["rising", "falling"], Field(description="Active edge of the design's registers.")] = (
        "rising"
    )


class Reset(_Section):
    """Reset of the design."""

    port: Annotated[_Name, Field(description="Reset port of the design.")]
    active: Annotated[Literal["high", "low"], Field(description="Active level of the reset.")] = "high"
    kind: Annotated[Literal["synchronous", "asynchronous"], Field(description="Synchronous or asynchronous reset.")] = (
        "synchronous"
    )
    cycles: Annotated[int, Field(ge=1, le=1000, description="Length of each reset in cycles.")] = 1


class Timing(_Section):
    """Latency and decision rate of a design that is compared in lockstep."""

    mode: Annotated[
        Literal["lockstep", "elastic"],
        Field(
            description="Comparison: lockstep compares every answer, elastic every decision.",
            json_schema_extra={"enum": ["lockstep"]},  # the other word belongs to the other form of [timing]
        ),
    ] = "lockstep"
    latency: Annotated[int, Field(ge=0, le=MAX_LATENCY, description="Cycles from inputs to the answering outputs.")] = 0
    every: Annotated[
        int, Field(ge=1, le=2 * MAX_LATENCY, description="Cycles per decision: 1, or more than the latency.")
    ] = 1
    ready: Annotated[
        Literal["either", "request", "grant"],
        Field(description="When ready is sampled: with the request, with the grant, or at either time."),
    ] = "either"
    between: Annotated[
        Literal["hold", "idle"], Field(description="Requests between decisions: hold keeps them, idle withdraws them.")
    ] = "hold"

    @model_validator(mode="after")
    def _fit(self) -> Timing:
        if 1 < self.every <= self.latency:
            raise InputError("every", f"1 or at least {self.latency + 1}, one more than the latency", self.every)
        if self.ready == "grant" and not 0 < self.latency < self.every:
            problem = "grant requires a latency of at least 1 and every above the latency"
            raise InputError("ready", "either or request", self.ready, problem=f": {problem}")
        if self.between == "idle" and (self.every == 1 or self.ready == "grant"):
            reason = "with every = 1, no cycle lies between decisions" if self.every == 1 else ""
            reason = reason or "with ready = grant, the request is still sampled after the decision"
            raise InputError("between", "hold", self.between, problem=f"must be hold, not idle: {reason}")
        return self


class Strobe(_Section):
    """Output of the design that marks a cycle."""

    strobe: Annotated[_Name, Field(description="Output of 1 bit.")]


class Last(_Section):
    """Port of the design that marks the last beat of a packet."""

    last: Annotated[_Name, Field(description="Input or output of 1 bit, or with one bit per lane.")]
    active: Annotated[Literal["high", "low"], Field(description="Level that means the last beat.")] = "high"


class StartUp(_Section):
    """Period after a reset in which no decision is due."""

    cycles: Annotated[int, Field(ge=0, le=100_000, description="Length in cycles.")] = 0
    decisions: Annotated[
        int, Field(ge=0, le=1000, description="Number of decisions after whose release the cycles are counted again.")
    ] = 0


class ElasticTiming(_Section):
    """Timing of a design whose decisions are compared instead of its cycles."""

    mode: Annotated[Literal["elastic"], Field(description="Comparison of decisions instead of cycles.")]
    decision: Annotated[
        Literal["handshake", "start"] | Strobe,
        Field(description="Decision event: grant with ready, start of a grant, or a strobe of the design."),
    ] = "handshake"
    release: Annotated[
        Literal["ready", "request_falls"] | Last,
        Field(description="End of a grant: ready, a falling request, or the last beat."),
    ] = "ready"
    hold: Annotated[
        Literal["none", "until_release"], Field(description="Whether a grant stays unchanged until its release.")
    ] = "none"
    latency: Annotated[
        Annotated[int, Field(ge=0, le=MAX_WINDOW)]
        | Annotated[list[Annotated[int, Field(ge=0, le=MAX_WINDOW)]], Field(min_length=2, max_length=2)]
        | Strobe,
        Field(description="Cycles from sampling point to decision: a number, a range, or a strobe of the design."),
    ] = 0
    lanes: Annotated[
        Literal["together", "each"], Field(description="One sampling point for all lanes, or one per lane.")
    ] = "together"
    at_most: Annotated[
        int, Field(ge=0, le=100_000, description="Tolerated idle cycles in addition to the latency.")
    ] = 0
    start_up: Annotated[StartUp, Field(description="Period after a reset in which no decision is due.")] = StartUp()
    first: Annotated[_Whole, Field(description="Lane that is first after a reset.")] = 0
    idle: Annotated[
        Literal["nothing", "decides", "either"] | None,
        Field(description="Golden in cycles without requests; the block's own behaviour if omitted."),
    ] = None
    forgets: Annotated[
        int | None, Field(ge=1, le=100_000, description="Cycles without a grant after which the order starts again.")
    ] = None
    ready: Annotated[
        Literal["either", "request"], Field(description="Whether a grant without ready is an error (request).")
    ] = "either"
    proposals: Annotated[
        Literal["free", "golden"], Field(description="Whether grants that are not taken are compared.")
    ] = "free"

    @property
    def window(self) -> tuple[int, int]:
        """Smallest and largest number of cycles from sampling point to decision. A strobe has (0, 0)."""
        if isinstance(self.latency, Strobe):
            return 0, 0
        return (self.latency, self.latency) if isinstance(self.latency, int) else (self.latency[0], self.latency[1])

    @property
    def ports(self) -> list[str]:
        """Ports of the design that the timing names."""
        named = [each.strobe for each in (self.decision, self.latency) if isinstance(each, Strobe)]
        return named + ([self.release.last] if isinstance(self.release, Last) else [])

    @model_validator(mode="after")
    def _fit(self) -> ElasticTiming:
        least, most = self.window
        if least > most:
            raise InputError("latency", "a range [from, to] with from <= to", f"[{least}, {most}]")
        if self.lanes == "each" and not 1 <= most - least <= MAX_WINDOW_EACH:
            problem = f"needs a latency range with a width of 1 to {MAX_WINDOW_EACH} cycles"
            raise InputError("lanes", "together", self.lanes, problem=f"= each {problem}")
        handshake = self.decision == "handshake"
        if self.proposals == "golden" and (not handshake or most or isinstance(self.latency, Strobe)):
            raise misplaced("proposals", "unless decision is handshake and latency is 0")
        if handshake and self.release == "request_falls":
            raise misplaced("release", "= request_falls with decision = handshake: use decision = start")
        if handshake and self.hold == "until_release" and not isinstance(self.release, Last):
            raise misplaced(
                "hold", "with decision = handshake unless release names the last beat: use decision = start"
            )
        return self


class Requesters(_Section):
    """Behaviour of the requesters in an elastic comparison, with an own golden or with policies."""

    stand: Annotated[bool, Field(description="No request is withdrawn before its grant is taken.")] = True
    masked: Annotated[bool, Field(description="A request falls in the cycle of its acknowledge.")] = False
    gap: Annotated[bool, Field(description="A requester pauses for one cycle after its packet.")] = False
    bursts: Annotated[bool, Field(description="Packets have 1 to 4 beats; release names the last one.")] = False
    wild_ack: Annotated[bool, Field(description="Acknowledges are driven without a grant, too.")] = False


class InputWire(_Section):
    """Port of the design for a port of the block, or one port per element of the block's port."""

    port: Annotated[_Wire | None, Field(description="Port of the design, or bits of it: req, req[3], req[3:0].")] = None
    ports: Annotated[
        Annotated[list[_Wire], Field(min_length=1)] | None,
        Field(description="Ports of the design, one per element of the block's port, lowest first; replaces port."),
    ] = None
    active: Annotated[Literal["high", "low"], Field(description="Level that means 1.")] = "high"
    order: Annotated[
        Literal["low_first", "high_first"],
        Field(description="Position of the first element in the design's port: lowest or highest bits."),
    ] = "low_first"
    resize: Annotated[bool, Field(description="Allow a wider or narrower port in the design.")] = False
    gate: Annotated[
        Literal["none", "grant", "lane"],
        Field(description="For ready: driven only with a grant, or one bit per lane, that of the granted lane."),
    ] = "none"

    @model_validator(mode="after")
    def _one(self) -> InputWire:
        if (self.port is None) == (self.ports is None):
            if self.port is None:
                raise missing_value("port", "give port or ports")
            raise misplaced("port", "with ports: give one of them")
        return self

    @property
    def wires(self) -> list[str]:
        """Ports of the design or bits of ports, lowest element first."""
        return self.ports or [str(self.port)]

    @property
    def names(self) -> list[str]:
        """Names of these ports, each once."""
        return list(dict.fromkeys(wire.partition("[")[0] for wire in self.wires))


class OutputWire(InputWire):
    """Port of the design for an output of the block, with its encoding and the cycles in which it is compared."""

    encoding: Annotated[
        Literal["number", "lane", "onehot"],
        Field(description="Encoding of vl: VL number, lane number, or one bit per lane."),
    ] = "number"
    when: Annotated[
        _Name | None, Field(description="Output of the block: compare only in cycles where golden's value is 1.")
    ] = None
    unless: Annotated[
        _Name | None, Field(description="Output of the block: compare only in cycles where golden's value is 0.")
    ] = None


class Whole(_Section):
    """Constant value of a block's input that the design lacks: of the whole port, or of each element."""

    value: Annotated[_Whole | None, Field(description="Value of the whole port.")] = None
    each: Annotated[_Whole | None, Field(description="Value of each element of the port; replaces value.")] = None

    @model_validator(mode="after")
    def _one(self) -> Whole:
        if (self.value is None) == (self.each is None):
            if self.value is None:
                raise missing_value("value", "give value or each")
            raise misplaced("value", "with each: give one of them")
        return self


class Stimulus(_Section):
    """Options of the stimulus."""

    wild: Annotated[bool, Field(description="Include phases with random values on all inputs.")] = False


def _mode_of(given: Any) -> str:
    mode = given.get("mode") if isinstance(given, dict) else getattr(given, "mode", None)
    return "elastic" if mode == "elastic" else "lockstep"


def _of_its_mode(given: Any) -> Any:
    """Reject keys of ``[timing]`` that belong to the other mode."""
    if isinstance(given, dict):
        kinds: dict[str, type[BaseModel]] = {"elastic": ElasticTiming, "lockstep": Timing}
        mode = _mode_of(given)
        other = "lockstep" if mode == "elastic" else "elastic"
        for key in given:
            if key in kinds[other].model_fields and key not in kinds[mode].model_fields:
                raise misplaced(str(key), f'with mode = "{mode}"; it belongs to mode = "{other}"')
    return given


_AnyTiming = Annotated[
    Annotated[Timing, Tag("lockstep")] | Annotated[ElasticTiming, Tag("elastic")],
    Discriminator(_mode_of),
    BeforeValidator(_of_its_mode),
]


class DutMap(_Section):
    """Map file.

    Parameters
    ----------
    block : dict
        ``name`` of the block, if the map is for one block only, and parameters of the instance.
    clock : Clock
        Clock port.
    reset : Reset or None
        Reset port; without one, the design is reset by power-on only.
    timing : Timing or ElasticTiming
        Latency and decision rate of the design.
    requesters : Requesters
        Behaviour of the requesters, for comparisons that follow decisions.
    parameters : dict
        Parameters of the design's top module.
    constants : dict
        Constant values of design inputs that the block lacks.
    inputs, outputs : dict
        Ports of the design for each port of the block.
    absent : dict
        Constant values of block inputs that the design lacks.
    stimulus : Stimulus
        Options of the stimulus.

    Attributes
    ----------
    source : str
        Name of the file; empty if there is none.
    """

    block: Annotated[
        dict[str, int | bool | str],
        Field(description="Name of the block, if the map is for one block only, and parameters of the instance."),
    ] = {}
    clock: Annotated[Clock, _short("port", str | Clock), Field(description="Clock of the design.")]
    reset: Annotated[
        Reset | None,
        _short("port", str | Reset | None),
        Field(description="Reset of the design; without it, power-on only."),
    ] = None
    timing: Annotated[_AnyTiming, Field(description="Latency and decision rate of the design.")] = Timing()
    requesters: Annotated[Requesters, Field(description="Behaviour of the requesters.")] = Requesters()
    parameters: Annotated[dict[_Name, int | str], Field(description="Parameters of the design's top module.")] = {}
    constants: Annotated[
        dict[_Wire, _Whole], Field(description="Constant values of design inputs that the block lacks.")
    ] = {}
    inputs: Annotated[
        dict[str, Annotated[InputWire, _short("port", str | list[str] | InputWire)]],
        Field(description="Ports of the design for each input of the block."),
    ] = {}
    outputs: Annotated[
        dict[str, Annotated[OutputWire, _short("port", str | list[str] | OutputWire)]],
        Field(min_length=1, description="Ports of the design for each output of the block."),
    ]
    absent: Annotated[
        dict[str, Annotated[Whole, _short("value", int | Whole)]],
        Field(description="Constant values of block inputs that the design lacks."),
    ] = {}
    stimulus: Annotated[Stimulus, Field(description="Options of the stimulus.")] = Stimulus()

    _source: str = ""

    @property
    def source(self) -> str:
        """Name of the file, empty if there is none."""
        return self._source

    @property
    def lockstep_timing(self) -> Timing:
        """Timing of a map that is compared in lockstep."""
        if not isinstance(self.timing, Timing):
            raise TypeError("an elastic map has no lockstep timing")
        return self.timing

    def refusal(
        self, path: tuple[str | int, ...], must: str, got: object, *, problem: str = "", meant: str = ""
    ) -> InputError:
        """Return the error about a key of the map."""
        return InputError(key_of(path), must, got, problem=problem, source=self._source, meant=meant)

    def misplaced(self, path: tuple[str | int, ...], why: str) -> InputError:
        """Return the error about a key of the map that must be left out."""
        return misplaced(key_of(path), why, source=self._source)

    def placed(self, error: InputError, path: tuple[str | int, ...]) -> InputError:
        """Return an error with its field replaced by a key of the map, and with the map's file."""
        return error.of(key_of(path)).at(self._source)

    def named(self, source: str) -> DutMap:
        """Return a copy of the map with the name of its file."""
        made = self.model_copy()
        made._source = source
        return made


def read_map(file: Path) -> DutMap:
    """Return the map in a TOML or JSON file.

    Raises
    ------
    InputError
        If the file cannot be used; the error names line and key, and its details name all further wrong keys.
    """
    return checked(DutMap, read_document(file, "map file"), every=True).named(str(file))
