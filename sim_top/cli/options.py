"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vlane.documents.toml_text import parse_value
from vlane.errors import InputError
from vlane.plugins import load_file
from vlane.rates import LinkClock, rate_of
from vlane.units import MOST_CYCLES

MOST_SEED = (1 << 63) - 1

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Params = Annotated[list[str] | None, typer.Option("--param", metavar="K=V", help="A parameter of the component.")]
RateOption = Annotated[
    str | None,
    typer.Option("--rate", metavar="GBPS", help="Data rate of a link, in Gb/s or by name (EDR 4X), for ns and Gb/s."),
]
Seed = Annotated[
    int, typer.Option(min=0, max=MOST_SEED, help="Chooses random tables and traffic; equal seeds give equal runs.")
]

PluginFiles = Annotated[
    list[Path] | None,
    typer.Option("--plugin", metavar="FILE", help="Python file of plug-ins to run first (docs/plugins.md)."),
]

Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="K=V", help="Another value of a key, as buffers.blocks=256.")
]


def key_and_text(word: str, option: str) -> tuple[str, str]:
    """Return the two sides of ``KEY=VALUE``.

    Raises
    ------
    InputError
        If it is none.
    """
    key, equals, text = word.partition("=")
    if not equals:
        raise InputError(option, "KEY=VALUE, as buffers.blocks=256", word)
    return key.strip(), text


def changes_of(words: list[str]) -> dict[str, Any]:
    """Return the values that ``--set`` gives keys of a study.

    Raises
    ------
    InputError
        If one has no value, or is given twice.
    """
    changes: dict[str, Any] = {}
    for word in words:
        key, text = key_and_text(word, "--set")
        if key in changes:
            raise InputError(f"--set {key}", "given once", "twice")
        changes[key] = parse_value(text, f"--set {key}")
    return changes


def load_plugins(files: list[Path] | None) -> None:
    """Run files of plug-ins.

    Raises
    ------
    InputError
        If one cannot be run, registers nothing, or registers a name that is taken.
    """
    for file in files or []:
        load_file(file)


def clock_at(rate: str | None) -> LinkClock | None:
    """Return what a cycle is on a link that carries a block in each, at the rate of ``--rate``; ``None`` without it.

    Raises
    ------
    InputError
        If it is no rate.
    """
    return None if rate is None else LinkClock(rate_of(rate, "--rate"))


def check_cycles(option: str, cycles: int, least: int = 1) -> None:
    """Refuse a run of so few cycles that it compares nothing, or of so many that nobody sees its end.

    Raises
    ------
    InputError
        Naming the option.
    """
    if not least <= cycles <= MOST_CYCLES:
        raise InputError(option, f"{least} to {MOST_CYCLES}, a day's work", cycles)


def numbers_of(option: str, text: str, most: int) -> tuple[int, ...]:
    """Return the numbers of 0 to ``most`` that an option lists, in order, each once; none for an empty text.

    Raises
    ------
    InputError
        Naming the option and the word that is no such number.
    """
    words = [word.strip() for word in text.split(",")] if text else []
    for word in words:
        if not (word.isascii() and word.isdigit() and len(word) < 4 and int(word) <= most):
            raise InputError(option, f"numbers of 0 to {most}, divided by commas", word)
    return tuple(sorted({int(word) for word in words}))
