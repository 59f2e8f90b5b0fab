"""Table files: TOML or JSON with the specification's field names."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, create_model

from vlane.documents.document import read_document
from vlane.documents.refusal import checked
from vlane.errors import InputError, missing_value
from vlane.schedulers.plugged import find_scheduler, scheduler_names
from vlane.schedulers.registry import IB_ARBITER, Section
from vlane.schedulers.vlarb import VLArbTable
from vlane.schedulers.writes import SchedulerTable
from vlane.tables.sl2vl import SL2VLRow

__all__ = ["SL2VL_SECTION", "Tables", "read_tables", "read_vlarb_table", "table_model", "tables_of"]

SL2VL_SECTION = "sl2vl"
"""Section of a table file that maps service levels to lanes."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def _model(name: str, keys: Mapping[str, tuple[Any, Any]]) -> type[_Section]:
    return cast("type[_Section]", create_model(name, __base__=_Section, **cast("Any", keys)))


_SL2VL = _model("sl2vl", {"row": (list[int], Field(description="VL of each of the 16 SLs; 15: drop the packet."))})
_SL2VL.__doc__ = "Map from service levels to lanes, which defines the lanes of each requester."


def _sections() -> dict[str, Section]:
    """Return the sections of all schedulers with a table, by scheduler name."""
    sections = {name: find_scheduler(name).section for name in scheduler_names()}
    return {name: section for name, section in sections.items() if section}


def table_model() -> type[BaseModel]:
    """Return the model of table files, with the sections of loaded plug-ins."""
    return _file_model(tuple(_sections()))


@functools.cache
def _file_model(names: tuple[str, ...]) -> type[_Section]:
    """Return the model of a table file: sections of schedulers with a table, and the map from SLs to VLs."""
    models = {name: (_section_model(name) | None, None) for name in names}
    return _model("file", {**models, SL2VL_SECTION: (_SL2VL | None, None)})


def _section_model(name: str) -> type[_Section]:
    scheduler = find_scheduler(name)
    section = _sections()[name]
    about = {key: Field(default, description=section.about[key]) for key, (_, default) in section.keys.items()}
    model = _model(name, {key: (kind, about[key]) for key, (kind, _) in section.keys.items()})
    model.__doc__ = f"{scheduler.title}."
    return model


@dataclass(frozen=True, slots=True)
class Tables:
    """Contents of a table file.

    Parameters
    ----------
    sections : mapping of str to SchedulerTable
        Tables by scheduler name, without those that the file lacks.
    sl2vl : SL2VLRow or None
        VL of each SL, which defines the lanes of each requester; ``None`` if missing.
    """

    sections: Mapping[str, SchedulerTable]
    sl2vl: SL2VLRow | None = None


def read_tables(path: Path, *, needed: str = "") -> Tables:
    """Return all tables of a file.

    Parameters
    ----------
    path : Path
        TOML file, or JSON if the suffix is ``.json``.
    needed : str
        Required section; empty for none.

    Raises
    ------
    InputError
        If the file cannot be read or parsed, has an unknown or missing key, or a value is out of range; the error has
        the line.
    """
    document = read_document(path, "table file")
    given = checked(table_model(), document).model_dump(exclude_none=True)
    try:
        return tables_of(given, needed=needed)
    except InputError as error:
        raise document.placed(error) from None


def tables_of(given: Mapping[str, Mapping[str, Any]], *, needed: str = "") -> Tables:
    """Return the tables of sections by name, as in a table file.

    Parameters
    ----------
    given : mapping of str to mapping
        Keys of each section, of the types of ``table_model``.
    needed : str
        Required section; empty for none.

    Raises
    ------
    InputError
        If the required section is missing or a value is out of range; names section and key.
    """
    if needed and needed not in given:
        raise missing_value(needed, "the section is required here")
    sections = _sections()
    tables = {name: sections[name].table(**keys) for name, keys in given.items() if name != SL2VL_SECTION}
    row = given.get(SL2VL_SECTION)
    return Tables(tables, SL2VLRow(**row) if row else None)


def read_vlarb_table(path: Path) -> VLArbTable:
    """Return the ``[vlarb]`` table of a file, with the errors of ``read_tables``."""
    return cast("VLArbTable", read_tables(path, needed=IB_ARBITER).sections[IB_ARBITER])
