"""Map files: which port of somebody else's RTL is which port of a block, and when it answers (``docs/your_rtl.md``)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from vlane.document import key_of, read_document
from vlane.errors import InputError
from vlane.refusal import checked

__all__ = ["DutMap", "InputWire", "OutputWire", "Whole", "read_map"]

MAX_LATENCY = 64
"""Cycles."""

_Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_$]*$")]
_Whole = Annotated[int, Field(ge=0)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def _short(key: str) -> BeforeValidator:
    """Return what lets a plain value stand for a section of one key; a list of names stands for ``ports``."""

    def longer(given: Any) -> Any:
        if isinstance(given, list):
            return {f"{key}s": given}
        return {key: given} if isinstance(given, str | int) and not isinstance(given, bool) else given

    return BeforeValidator(longer)


class Clock(_Section):
    """The clock."""

    port: _Name
    edge: Literal["rising", "falling"] = "rising"


class Reset(_Section):
    """The reset."""

    port: _Name
    active: Literal["high", "low"] = "high"
    kind: Literal["synchronous", "asynchronous"] = "synchronous"
    cycles: Annotated[int, Field(ge=1, le=1000)] = 1


class Timing(_Section):
    """When the design looks at its inputs, and when it answers."""

    latency: Annotated[int, Field(ge=0, le=MAX_LATENCY)] = 0
    every: Annotated[int, Field(ge=1, le=2 * MAX_LATENCY)] = 1
    ready: Literal["either", "request", "grant"] = "either"
    between: Literal["hold", "idle"] = "hold"

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

    port: _Name | None = None
    ports: Annotated[list[_Name], Field(min_length=1)] | None = None
    active: Literal["high", "low"] = "high"
    order: Literal["low_first", "high_first"] = "low_first"
    resize: bool = False

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

    encoding: Literal["number", "lane", "onehot"] = "number"
    when: _Name | None = None
    unless: _Name | None = None


class Whole(_Section):
    """What a port that the design lacks stays at: its value, or that of each element."""

    value: _Whole | None = None
    each: _Whole | None = None

    @model_validator(mode="after")
    def _one(self) -> Whole:
        if (self.value is None) == (self.each is None):
            raise InputError("value", "given, or each", "missing" if self.value is None else "both of them")
        return self


class Stimulus(_Section):
    """What the design is given."""

    wild: bool = False


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

    block: dict[str, int | bool | str] = {}
    clock: Annotated[Clock, _short("port")]
    reset: Annotated[Reset | None, _short("port")] = None
    timing: Timing = Timing()
    parameters: dict[_Name, int | str] = {}
    constants: dict[_Name, _Whole] = {}
    inputs: dict[str, Annotated[InputWire, _short("port")]] = {}
    outputs: Annotated[dict[str, Annotated[OutputWire, _short("port")]], Field(min_length=1)]
    absent: dict[str, Annotated[Whole, _short("value")]] = {}
    stimulus: Stimulus = Stimulus()

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
