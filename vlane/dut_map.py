"""Map files: which port of somebody else's RTL is which port of a block, and when it answers (``docs/your_rtl.md``)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from vlane.documents.document import key_of, read_document
from vlane.documents.refusal import checked
from vlane.errors import InputError

MAX_LATENCY = 64
"""Cycles."""

_Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_$]*$")]
_Whole = Annotated[int, Field(ge=0)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def _short(key: str, written: Any) -> BeforeValidator:
    """Return what lets a plain value stand for a section of one key; a list of names stands for ``ports``.

    ``written`` is what a file may hold, for the JSON schema.
    """

    def longer(given: Any) -> Any:
        if isinstance(given, list):
            return {f"{key}s": given}
        return {key: given} if isinstance(given, str | int) and not isinstance(given, bool) else given

    return BeforeValidator(longer, json_schema_input_type=written)


class Clock(_Section):
    """The clock."""

    port: Annotated[_Name, Field(description="Their port.")]
    edge: Annotated[Literal["rising", "falling"], Field(description="The edge at which their registers change.")] = (
        "rising"
    )


class Reset(_Section):
    """The reset."""

    port: Annotated[_Name, Field(description="Their port.")]
    active: Annotated[Literal["high", "low"], Field(description="The level that resets.")] = "high"
    kind: Annotated[
        Literal["synchronous", "asynchronous"], Field(description="Whether the reset waits for the clock.")
    ] = "synchronous"
    cycles: Annotated[int, Field(ge=1, le=1000, description="How long each reset lasts.")] = 1


class Timing(_Section):
    """When the design looks at its inputs, and when it answers."""

    latency: Annotated[int, Field(ge=0, le=MAX_LATENCY, description="Cycles from inputs to outputs.")] = 0
    every: Annotated[
        int, Field(ge=1, le=2 * MAX_LATENCY, description="Cycles per decision: 1, or more than the latency.")
    ] = 1
    ready: Annotated[Literal["either", "request", "grant"], Field(description="What ready has to do with a grant.")] = (
        "either"
    )
    between: Annotated[
        Literal["hold", "idle"], Field(description="Requests in the cycles between decisions stay, or are withdrawn.")
    ] = "hold"

    @model_validator(mode="after")
    def _fit(self) -> Timing:
        if 1 < self.every <= self.latency:
            raise InputError("every", f"1 or at least {self.latency + 1}, one more than the latency", self.every)
        if self.ready == "grant" and not 0 < self.latency < self.every:
            raise InputError("ready", "grant only with a latency and a longer every", self.ready)
        if self.between == "idle" and (self.every == 1 or self.ready == "grant"):
            raise InputError("between", "hold, as no cycle is between or the request is still looked at", self.between)
        return self


class InputWire(_Section):
    """A port of theirs, or one for each element of ours, that carries a port of ours."""

    port: Annotated[_Name | None, Field(description="Their port.")] = None
    ports: Annotated[
        Annotated[list[_Name], Field(min_length=1)] | None,
        Field(description="Their ports, one for each element of ours, the lowest first; instead of port."),
    ] = None
    active: Annotated[Literal["high", "low"], Field(description="The level that means 1.")] = "high"
    order: Annotated[
        Literal["low_first", "high_first"], Field(description="Which bits of theirs are our first element.")
    ] = "low_first"
    resize: Annotated[bool, Field(description="Their port may be wider or narrower.")] = False

    @model_validator(mode="after")
    def _one(self) -> InputWire:
        if (self.port is None) == (self.ports is None):
            raise InputError("port", "given, or ports", "missing" if self.port is None else "both of them")
        return self

    @property
    def names(self) -> list[str]:
        """Their ports, for the lowest element first."""
        return self.ports or [str(self.port)]


class OutputWire(InputWire):
    """The same for an output; it may have another code, or count in some cycles only."""

    encoding: Annotated[
        Literal["number", "lane", "onehot"],
        Field(description="Of vl: the VL, the number of the lane, or a bit for each lane."),
    ] = "number"
    when: Annotated[_Name | None, Field(description="An output of ours: theirs counts only where golden's is 1.")] = (
        None
    )
    unless: Annotated[_Name | None, Field(description="An output of ours: theirs counts only where golden's is 0.")] = (
        None
    )


class Whole(_Section):
    """What a port that the design lacks stays at: its value, or that of each element."""

    value: Annotated[_Whole | None, Field(description="The number of the whole port.")] = None
    each: Annotated[_Whole | None, Field(description="The number of each of its elements; instead of value.")] = None

    @model_validator(mode="after")
    def _one(self) -> Whole:
        if (self.value is None) == (self.each is None):
            raise InputError("value", "given, or each", "missing" if self.value is None else "both of them")
        return self


class Stimulus(_Section):
    """What the design is given."""

    wild: Annotated[bool, Field(description="Phases in which all inputs are random, too.")] = False


class DutMap(_Section):
    """A map file.

    Parameters
    ----------
    block : dict
        ``name`` of the block, if the map is for one only, and parameters of its instance.
    clock, reset : Clock, Reset or None
        Ports; without a reset none is given but for the power-on.
    timing : Timing
        When it answers.
    parameters : dict
        Of their module.
    constants : dict
        Ports of theirs that the block has none for, and what they are held at.
    inputs, outputs : dict
        Ports of the block, and theirs.
    absent : dict
        Inputs of the block that the design lacks, and what they stay at.
    stimulus : Stimulus
        What the design is given.

    Attributes
    ----------
    source : str
        The file; empty if there is none.
    """

    block: Annotated[
        dict[str, int | bool | str],
        Field(description="The name of the block, if the map is for one only, and parameters of its instance."),
    ] = {}
    clock: Annotated[Clock, _short("port", str | Clock), Field(description="Their clock.")]
    reset: Annotated[
        Reset | None, _short("port", str | Reset | None), Field(description="Their reset; without one none is given.")
    ] = None
    timing: Annotated[Timing, Field(description="When the design answers.")] = Timing()
    parameters: Annotated[dict[_Name, int | str], Field(description="Parameters of their module.")] = {}
    constants: Annotated[
        dict[_Name, _Whole],
        Field(description="Inputs of theirs that the block has none for, and what they are held at."),
    ] = {}
    inputs: Annotated[
        dict[str, Annotated[InputWire, _short("port", str | list[str] | InputWire)]],
        Field(description="Inputs of the block, and theirs."),
    ] = {}
    outputs: Annotated[
        dict[str, Annotated[OutputWire, _short("port", str | list[str] | OutputWire)]],
        Field(min_length=1, description="Outputs of the block, and theirs."),
    ]
    absent: Annotated[
        dict[str, Annotated[Whole, _short("value", int | Whole)]],
        Field(description="Inputs of the block that the design lacks, and what they stay at."),
    ] = {}
    stimulus: Annotated[Stimulus, Field(description="What the design is given.")] = Stimulus()

    _source: str = ""

    @property
    def source(self) -> str:
        """The file; empty if there is none."""
        return self._source

    def refusal(self, path: tuple[str | int, ...], must: str, got: object, *, meant: str = "") -> InputError:
        """Return the error about a key of the map."""
        return InputError(key_of(path), must, got, source=self._source, meant=meant)

    def named(self, source: str) -> DutMap:
        """Return the map as the one of a file."""
        made = self.model_copy()
        made._source = source
        return made


def read_map(file: Path) -> DutMap:
    """Return the map in a file, TOML or JSON.

    Raises
    ------
    InputError
        If it cannot be used, naming the line and the key.
    """
    return checked(DutMap, read_document(file, "map file")).named(str(file))
