"""Map files: assign the ports of a user's RTL to ports of a block, and describe its timing (``docs/your_rtl.md``)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from vlane.documents.document import key_of, read_document
from vlane.documents.refusal import checked
from vlane.errors import InputError, misplaced, missing_value

MAX_LATENCY = 64
"""Largest latency in cycles."""

_Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_$]*$")]
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
    """Latency and decision rate of the design."""

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


class InputWire(_Section):
    """Port of the design for a port of the block, or one port per element of the block's port."""

    port: Annotated[_Name | None, Field(description="Port of the design.")] = None
    ports: Annotated[
        Annotated[list[_Name], Field(min_length=1)] | None,
        Field(description="Ports of the design, one per element of the block's port, lowest first; replaces port."),
    ] = None
    active: Annotated[Literal["high", "low"], Field(description="Level that means 1.")] = "high"
    order: Annotated[
        Literal["low_first", "high_first"],
        Field(description="Position of the first element in the design's port: lowest or highest bits."),
    ] = "low_first"
    resize: Annotated[bool, Field(description="Allow a wider or narrower port in the design.")] = False

    @model_validator(mode="after")
    def _one(self) -> InputWire:
        if (self.port is None) == (self.ports is None):
            if self.port is None:
                raise missing_value("port", "give port or ports")
            raise misplaced("port", "with ports: give one of them")
        return self

    @property
    def names(self) -> list[str]:
        """Ports of the design, lowest element first."""
        return self.ports or [str(self.port)]


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


class DutMap(_Section):
    """Map file.

    Parameters
    ----------
    block : dict
        ``name`` of the block, if the map is for one block only, and parameters of the instance.
    clock, reset : Clock, Reset or None
        Clock and reset ports; without a reset, the design is reset by power-on only.
    timing : Timing
        Latency and decision rate of the design.
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
    timing: Annotated[Timing, Field(description="Latency and decision rate of the design.")] = Timing()
    parameters: Annotated[dict[_Name, int | str], Field(description="Parameters of the design's top module.")] = {}
    constants: Annotated[
        dict[_Name, _Whole], Field(description="Constant values of design inputs that the block lacks.")
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

    def refusal(
        self, path: tuple[str | int, ...], must: str, got: object, *, problem: str = "", meant: str = ""
    ) -> InputError:
        """Return the error about a key of the map."""
        return InputError(key_of(path), must, got, problem=problem, source=self._source, meant=meant)

    def misplaced(self, path: tuple[str | int, ...], why: str) -> InputError:
        """Return the error about a key of the map that must be left out."""
        return misplaced(key_of(path), why, source=self._source)

    def placed(self, error: InputError, path: tuple[str | int, ...]) -> InputError:
        """Return an error as one about a key of the map."""
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
        If the file cannot be used; the error names line and key.
    """
    return checked(DutMap, read_document(file, "map file")).named(str(file))
