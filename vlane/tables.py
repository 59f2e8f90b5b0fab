"""Table files: TOML or JSON with the specification's field names."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vlane.errors import InputError
from vlane.vlarb import VLArbEntry, VLArbTable

__all__ = ["read_vlarb_table"]

_Pair = Annotated[list[int], Field(min_length=2, max_length=2)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    high: list[_Pair] = []
    low: list[_Pair] = []
    limit_of_high_priority: int


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    vlarb: _Section


def read_vlarb_table(path: Path) -> VLArbTable:
    """Return the ``[vlarb]`` table of a file.

    Raises
    ------
    InputError
        If the file cannot be read or parsed, has an unknown or missing key, or a value is out of range.
    """
    document = _parse(path)
    try:
        section = _File.model_validate(document).vlarb
    except ValidationError as error:
        raise _refusal(error, path) from None
    try:
        return VLArbTable(
            tuple(VLArbEntry(*pair) for pair in section.high),
            tuple(VLArbEntry(*pair) for pair in section.low),
            section.limit_of_high_priority,
        )
    except InputError as error:
        raise error.at(str(path)) from None


def _parse(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError("table file", "readable", error.strerror or "unreadable", source=str(path)) from None
    except UnicodeDecodeError:
        raise InputError("table file", "UTF-8 text", "other bytes", source=str(path)) from None
    try:
        return json.loads(text, object_pairs_hook=_once) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise InputError("content", kind, str(error) or "nested too deep", source=str(path)) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object; a key given twice is refused, as TOML does."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key is given twice")
    return made


def _refusal(error: ValidationError, path: Path) -> InputError:
    first = error.errors()[0]
    field = ".".join(map(str, first["loc"])) or "content"
    if first["type"] == "extra_forbidden":
        return InputError(
            field,
            "one of the known keys (vlarb.high, .low, .limit_of_high_priority)",
            "unknown",
            source=str(path),
        )
    if first["type"] == "missing":
        return InputError(field, "given", "missing", source=str(path))
    must = {
        "int_type": "a whole number",
        "list_type": "a list",
        "model_type": "a section",
        "model_attributes_type": "a section",
    }.get(first["type"], "a pair [VL, weight]" if first["type"] in {"too_short", "too_long"} else first["msg"])
    return InputError(field, must, first["input"], source=str(path))
