"""Options shared by several verbs."""

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
Params = Annotated[list[str] | None, typer.Option("--param", metavar="K=V", help="Parameter of the block; repeatable.")]
RateOption = Annotated[
    str | None,
    typer.Option(
        "--rate", metavar="GBPS", help="Data rate of a link, in Gb/s or by name (EDR 4X); adds results in ns and Gb/s."
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, max=MOST_SEED, help="Seed of random tables and traffic; equal seeds give equal runs.")
]

PluginFiles = Annotated[
    list[Path] | None,
    typer.Option("--plugin", metavar="FILE", help="Python file of plug-ins to load (docs/plugins.md); repeatable."),
]

Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="K=V", help="Change a key of the study, such as buffers.blocks=256; repeatable."),
]


def key_and_text(word: str, option: str) -> tuple[str, str]:
    """Return the two sides of ``KEY=VALUE``.

    Raises
    ------
    InputError
        If the word has no ``=``.
    """
    key, equals, text = word.partition("=")
    if not equals:
        raise InputError(option, "KEY=VALUE, such as buffers.blocks=256", word)
    return key.strip(), text


def changes_of(words: list[str]) -> dict[str, Any]:
    """Return the values of study keys that ``--set`` gives, by dotted key.

    Raises
    ------
    InputError
        If a word has no value, or a key is given twice.
    """
    changes: dict[str, Any] = {}
    for word in words:
        key, text = key_and_text(word, "--set")
        if key in changes:
            raise InputError(f"--set {key}", "given once", "twice", problem="is given twice")
        changes[key] = parse_value(text, f"--set {key}")
    return changes


def load_plugins(files: list[Path] | None) -> None:
    """Load files of plug-ins.

    Raises
    ------
    InputError
        If a file fails to run, registers nothing, or registers a name that is taken.
    """
    for file in files or []:
        load_file(file)


def clock_at(rate: str | None) -> LinkClock | None:
    """Return the clock of a link at the rate of ``--rate``, one block per cycle, or ``None`` without ``--rate``.

    Raises
    ------
    InputError
        If the rate is not valid.
    """
    return None if rate is None else LinkClock(rate_of(rate, "--rate"))


def check_cycles(option: str, cycles: int, least: int = 1) -> None:
    """Reject a number of cycles that is too small to compare anything, or would run for days.

    Raises
    ------
    InputError
        If the number is out of range; names the option.
    """
    if not least <= cycles <= MOST_CYCLES:
        raise InputError(option, f"{least} to {MOST_CYCLES}", cycles)


def numbers_of(option: str, text: str, most: int) -> tuple[int, ...]:
    """Return the distinct numbers, 0 to ``most``, that an option lists, in ascending order, empty for an empty text.

    Raises
    ------
    InputError
        If a word is not such a number; names the option and the word.
    """
    words = [word.strip() for word in text.split(",")] if text else []
    for word in words:
        if not (word.isascii() and word.isdigit() and len(word) < 4 and int(word) <= most):
            raise InputError(option, f"numbers from 0 to {most}, separated by commas", word)
    return tuple(sorted({int(word) for word in words}))
