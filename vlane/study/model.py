"""Model of study files: vlane's keys, and the words of plug-ins."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated, Any, Literal, Union, cast, get_args

from pydantic import Field, create_model

from vlane.documents.document import read_document
from vlane.documents.refusal import checked
from vlane.plugins import Plugin, load_installed, load_portable, plugins_of, portable_plugins
from vlane.study.networks import NETWORKS, Section
from vlane.study.study import Scheduler, Study, with_tables
from vlane.study.traffic import Traffic


class _PluggedStudy(Study):
    """Study that may contain words of plug-ins. Unpickling loads the plug-ins first."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (portable_plugins(), self.model_dump(exclude_unset=True))


def _again(plugins: tuple[Any, bytes], content: dict[str, Any]) -> Study:
    load_portable(*plugins)
    return study_model().model_validate(content)


def study_model() -> type[Study]:
    """Return the model of study files: ``Study``, or a subclass with the words of loaded plug-ins."""
    words = tuple(tuple(plugins_of(kind).values()) for kind in ("topology", "routing", "pattern", "scheduler"))
    return _model(*words) if any(words) or plugins_of("source") else Study


@functools.lru_cache(maxsize=8)
def _model(
    topologies: tuple[Plugin, ...],
    routings: tuple[Plugin, ...],
    patterns: tuple[Plugin, ...],
    schedulers: tuple[Plugin, ...],
) -> type[Study]:
    sections = [_routed(each, routings) for each in NETWORKS] + [_plugged(each, routings) for each in topologies]
    network: Any = Annotated[Union[tuple(sections)], Field(discriminator="topology")]  # noqa: UP007 - of a tuple
    traffic, scheduler = _worded(Traffic, "pattern", patterns), _worded(Scheduler, "name", schedulers)
    scheduler = with_tables(cast("type[Scheduler]", scheduler))
    at_most = next(each for each in Study.model_fields["traffic"].metadata if hasattr(each, "max_length"))
    fields: dict[str, Any] = {
        "network": (network, ...),
        "traffic": (Annotated[list[traffic], Field(max_length=at_most.max_length)], []),  # type: ignore[valid-type]
        "scheduler": (scheduler, Field(default_factory=lambda: scheduler.model_validate({}))),
    }
    return cast("type[Study]", create_model("Study", __base__=_PluggedStudy, **fields))


def _worded(section: type[Section], key: str, plugins: tuple[Plugin, ...], default: Any = None) -> type[Section]:
    """Return a section in which a key also accepts names of plug-ins."""
    if not plugins:
        return section
    known = section.model_fields[key]
    words = (*get_args(known.annotation), *(each.name for each in plugins))
    field = (Literal[words], Field(known.default if default is None else default, description=known.description))
    return cast("type[Section]", create_model(section.__name__, __base__=section, **{key: field}))  # type: ignore[call-overload]


def _routed(section: type[Section], routings: tuple[Plugin, ...]) -> type[Section]:
    """Return a topology's section that accepts routings of plug-ins. A captured fabric has its own routing."""
    return _worded(section, "routing", routings) if "routing" in section.model_fields else section


class _PluggedNetwork(Section):
    topology: str
    routing: Literal["updown"] = Field("updown", description="Routing.")
    root: int = Field(0, ge=0, description="Root switch of up*/down*.")


def _plugged(plugin: Plugin, routings: tuple[Plugin, ...]) -> type[Section]:
    """Return the section of a plug-in's topology: its keys, a routing and the root of up*/down*."""
    default = plugin.options["routing"]
    base = _worded(_PluggedNetwork, "routing", routings, default)
    word = Field(description="Selects this topology.")
    keys = {"topology": (Literal[plugin.name], word), **plugin.options["keys"]}
    return cast("type[Section]", create_model(plugin.name, __base__=base, **keys))


def plugins_named(study: Study) -> list[Plugin]:
    """Return the plug-ins that a study uses."""
    words: dict[str, set[str]] = {
        "topology": {study.network.topology},
        "routing": {getattr(study.network, "routing", "")},
        "pattern": {each.pattern for each in study.traffic},
        "source": {each.source for each in study.traffic if each.source is not None},
        "scheduler": {study.scheduler.name},
    }
    return [each for kind, named in words.items() for name, each in plugins_of(kind).items() if name in named]


def read_study(path: Path) -> Study:
    """Return the study in a file, after loading the plug-ins of installed packages.

    Raises
    ------
    InputError
        If the file cannot be read or parsed, has an unknown or missing key, or a value is out of range (the error has
        the line), or a plug-in cannot be loaded.
    """
    load_installed()
    return checked(study_model(), read_document(path, "study file"))
