"""Records of soaks: a file with one JSON line per compared instance, accumulated over several soaks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from vlane.documents.document import Document, given_once
from vlane.documents.refusal import checked
from vlane.documents.textfile import whole_text
from vlane.errors import InputError
from vlane.sim_top.blocks import find_block
from vlane.sim_top.cosim.soak import Point
from vlane.tb.machinery.native.model import to_verilog
from vlane.units import MOST_CYCLES

_DIGITS = 16


class SoakRecord(BaseModel):
    """Instance that agreed with golden in every cycle.

    Parameters
    ----------
    block : str
        Name of the block.
    parameters : mapping
        All parameters of the instance.
    full_size : bool
        Whether the instance has the parameters of the block's largest instance.
    cycles : int
        Number of compared cycles.
    seed : int
        Seed of tables and traffic.
    rtl : str
        Digest of the instance's Verilog.
    day : date
        Date of the comparison.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    block: str
    parameters: dict[str, Any]
    full_size: bool
    cycles: int = Field(ge=1, le=MOST_CYCLES, strict=True)
    seed: int = Field(strict=True)
    rtl: str = Field(pattern=f"^[0-9a-f]{{{_DIGITS}}}$")
    day: date

    @classmethod
    def of(cls, point: Point, *, rtl: str) -> Self:
        """Return a record, dated today, of a point that agreed."""
        block = find_block(point.block)
        parameters = block.defaults() | dict(point.parameters)
        full_size = parameters.items() >= {**block.full_size, **block.shape.fit_form(parameters)}.items()
        return cls(
            block=point.block,
            parameters=parameters,
            full_size=full_size,
            cycles=point.cycles,
            seed=point.seed,
            rtl=rtl,
            day=datetime.now(tz=UTC).date(),
        )

    @property
    def compared(self) -> str:
        """Identity of the comparison: equal for two records of the same cycles of the same RTL."""
        return json.dumps(self.model_dump(exclude={"day"}), sort_keys=True)


@dataclass(frozen=True, slots=True)
class Total:
    """Totals of a block in one form.

    Parameters
    ----------
    block : str
        Name of the block.
    form : str
        Form of the block; empty if it has only one.
    cycles : int
        Number of compared cycles.
    full_size_cycles : int
        Number of compared cycles at full size.
    present_cycles : int
        Number of compared cycles of the current RTL.
    instances : int
        Number of instances.
    seeds : int
        Number of distinct seeds.
    shapes : int
        Number of distinct parameter sets.
    first, last : date
        Dates of the first and the last record.
    """

    block: str
    form: str
    cycles: int
    full_size_cycles: int
    present_cycles: int
    instances: int
    seeds: int
    shapes: int
    first: date
    last: date


def rtl_of(block: str, parameters: Mapping[str, Any]) -> str:
    """Return the digest of an instance's current Verilog, empty if the block no longer has such an instance."""
    try:
        component = find_block(block).make(parameters)
    except (TypeError, InputError):
        return ""
    return hashlib.sha256(to_verilog(component, block).encode()).hexdigest()[:_DIGITS]


def read_records(file: Path) -> tuple[SoakRecord, ...]:
    """Return the records of a file, or none if the file does not exist.

    Raises
    ------
    InputError
        If the file cannot be read or a line is not a record.
    """
    if not file.exists():
        return ()
    lines = whole_text(file, "record file").splitlines()
    return tuple(_record(line, file, number) for number, line in enumerate(lines, 1))


def _record(line: str, file: Path, number: int) -> SoakRecord:
    try:
        content = json.loads(line, object_pairs_hook=given_once)
    except ValueError as error:
        problem = ": not a JSON object with unique keys"
        must = "a JSON object with unique keys"
        raise InputError("record", must, line, source=str(file), line=number, problem=problem) from error
    try:
        record = checked(SoakRecord, Document(str(file), "", content))
        find_block(record.block)
    except InputError as error:
        raise error.at(str(file), number) from None
    return record


def add_records(file: Path, *records: SoakRecord) -> None:
    """Append records to a file, creating it if necessary. Without records, only check that the file is writable.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as out:
            out.write("".join(f"{record.model_dump_json()}\n" for record in records))
    except OSError as error:
        problem = f"cannot be written: {_reason(error)}"
        raise InputError("record file", "writable", _reason(error), source=str(file), problem=problem) from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def totals(records: Iterable[SoakRecord]) -> Iterator[Total]:
    """Yield the totals of records by block and form, counting duplicates once."""

    def kind(record: SoakRecord) -> tuple[str, str]:
        return record.block, str(record.parameters.get("form", ""))

    for (block, form), group in groupby(sorted(records, key=kind), key=kind):
        held = list({each.compared: each for each in group}.values())
        shapes = {_shape(each): each.parameters for each in held}
        present = {shape: rtl_of(block, parameters) for shape, parameters in shapes.items()}
        yield Total(
            block=block,
            form=form,
            cycles=sum(each.cycles for each in held),
            full_size_cycles=sum(each.cycles for each in held if each.full_size),
            present_cycles=sum(each.cycles for each in held if each.rtl == present[_shape(each)]),
            instances=len(held),
            seeds=len({each.seed for each in held}),
            shapes=len(shapes),
            first=min(each.day for each in held),
            last=max(each.day for each in held),
        )


def _shape(record: SoakRecord) -> str:
    return json.dumps(record.parameters, sort_keys=True)
