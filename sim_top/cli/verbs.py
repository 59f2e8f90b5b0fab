"""Verbs of the command line: how they are called, and how one ends that does not do what it was asked for."""

from __future__ import annotations

import json
import math
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from vlane.errors import InputError, closest, unknown_word
from vlane.extras import MissingExtraError
from vlane.shown import harmless
from vlane.sim_top.output.console import complain
from vlane.sim_top.output.interrupts import Interrupted

_EXACT = 1 << 53
"""Whole numbers below it are the same in every reader of JSON."""


class CheckFailedError(Exception):
    """A check failed before there was a document to say so: exit status 1."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb that is loaded when it is called.

    Parameters
    ----------
    module : str
        Module of the verb, whose ``app`` holds it.
    help : str
        First sentence of what the verb says of itself, for the list of verbs.
    """

    module: str
    help: str


class App(typer.Typer):
    """A group of verbs whose refusals are ours; an app of one verb is that verb."""

    def __init__(self, **more: Any) -> None:
        super().__init__(
            **{
                "cls": _Verbs,
                "no_args_is_help": True,
                "rich_markup_mode": None,
                "pretty_exceptions_enable": False,
                "add_completion": False,
                **more,
            }
        )

    def command(self, *given: Any, **more: Any) -> Callable[[Any], Any]:
        """Return what adds a function as a verb."""
        return super().command(*given, cls=_Verb, **more)


class _Verbs(TyperGroup):
    """Verbs by name; one that is not there is refused with the one that was meant."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None:
            name = " ".join(["VERB", *ctx.command_path.split()[1:]][::-1])
            raise unknown_word(name, self.list_commands(ctx), args[0])
        return super().resolve_command(ctx, args)


class LoadedVerbs(_Verbs):
    """Verbs whose modules are imported one at a time, when the verb is called: each loads libraries of its own."""

    verbs: ClassVar[Mapping[str, Verb]] = {}

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer's signature
        """Return the names of the verbs, in the order of the help."""
        return list(self.verbs)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - typer's signature
        """Import the verb's module; return the verb, or ``None`` if there is none of this name."""
        if cmd_name not in self.verbs:
            return None
        command = typer.main.get_command(import_module(self.verbs[cmd_name].module).app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - typer's signature
        """Write the list of verbs without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.help) for name, verb in self.verbs.items()])


class _Verb(TyperCommand):
    """A verb; one word too many is refused by its name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, args)
        if rest:
            raise InputError("arguments", f"those of {ctx.command_path} --help", f"one more: {rest[0]}")
        return rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # typer would end without a word
            raise Interrupted(signal.SIGINT) from None
        except MissingExtraError as error:
            tell_why(str(error), command=ctx.command_path)
            raise typer.Exit(2) from None


def tell_why(message: str, error: InputError | None = None, *, command: str = "vlane") -> None:
    """Write to stderr why a verb ends: one line, and an error's details; with ``--json`` one JSON object."""
    if "--json" in sys.argv[1:]:
        complain(json.dumps({**_document(error), "message": harmless(message)}))
        return
    complain(f"{command}: {harmless(' '.join(message.split()))}")
    for detail in error.details if error else ():
        complain(f"  {detail}")


def _document(error: InputError | None) -> dict[str, Any]:
    if error is None:
        return dict.fromkeys(("file", "line", "field", "must", "got", "did_you_mean"))
    is_number = isinstance(error.got, int) and abs(error.got) < _EXACT
    is_number = is_number or (isinstance(error.got, float) and math.isfinite(error.got))
    return {
        "file": harmless(error.source) or None,
        "line": error.line or None,
        "field": harmless(error.field),
        "must": harmless(error.must),
        "got": error.got if is_number or error.got == "" else error.shown,
        "did_you_mean": error.meant or None,
        **({"details": list(error.details)} if error.details else {}),
    }


def refused_call(error: Exception) -> InputError | None:
    """Return what the parser of the command line refuses as a refusal; ``None`` if it is no such thing."""
    kind, parameter = type(error).__name__, getattr(error, "param", None)
    if not hasattr(error, "format_message"):
        return None
    context = getattr(error, "ctx", None)
    verb, options = (context.command_path, context.command.params) if context else ("vlane", [])
    if kind == "NoSuchOption":
        word = error.option_name  # type: ignore[attr-defined]
        known = [name for option in options for name in option.opts if name.startswith("-")]
        return InputError(word, f"an option of {verb}", "unknown", meant=closest(word, known))
    if kind == "MissingParameter" and parameter is not None:
        return InputError(_name(parameter), f"given ({str(parameter.help).removesuffix('.')})", "missing")
    if kind == "BadParameter" and parameter is not None and type(error.__cause__).__name__ == "ValidationError":
        from vlane.documents.refusal import WORDS  # noqa: PLC0415 - pydantic raised it, so it is loaded by now

        wrong = error.__cause__.errors()[0]  # type: ignore[union-attr]
        if wrong["type"] in WORDS:
            return InputError(_name(parameter), WORDS[wrong["type"]](wrong.get("ctx", {})), wrong["input"])
    if kind == "BadOptionUsage":
        word = error.option_name  # type: ignore[attr-defined]
        is_flag = any(each.startswith(f"{word}=") for each in sys.argv)
        return InputError(word, f"given {'without' if is_flag else 'with'} a value", "with one" if is_flag else "alone")
    return InputError("call", f"as {verb} --help says", error.format_message())


def _name(parameter: Any) -> str:
    """Return an option's longest name, or what an argument is called in the help."""
    if parameter.param_type_name == "option":
        return max(parameter.opts, key=len)
    return (parameter.metavar or parameter.name).strip("[].").upper()
