"""Verbs of the command line: loading, calling and errors."""

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

from vlane.errors import InputError, closest, missing_value, unknown_word
from vlane.extras import MissingExtraError
from vlane.shown import harmless
from vlane.sim_top.output.console import complain
from vlane.sim_top.output.interrupts import Interrupted

_EXACT = 1 << 53
"""Limit below which all JSON readers represent whole numbers exactly."""


class CheckFailedError(Exception):
    """Check that failed before the verb had a document to print: exit status 1."""


@dataclass(frozen=True, slots=True)
class Verb:
    """Verb that is imported when it is called.

    Parameters
    ----------
    module : str
        Module of the verb, whose ``app`` attribute holds the verb.
    help : str
        First sentence of the verb's help, for the list of verbs.
    """

    module: str
    help: str


class App(typer.Typer):
    """Group of verbs that reports errors in vlane's format. An app with one verb is that verb."""

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
        """Return the decorator that adds a function as a verb."""
        return super().command(*given, cls=_Verb, **more)


class _Verbs(TyperGroup):
    """Verbs by name. An unknown verb is rejected with the closest known verb."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None:
            name = " ".join(["VERB", *ctx.command_path.split()[1:]][::-1])
            raise unknown_word(name, self.list_commands(ctx), args[0])
        return super().resolve_command(ctx, args)


class LoadedVerbs(_Verbs):
    """Verbs whose modules are imported when the verb is called, because each imports large libraries."""

    verbs: ClassVar[Mapping[str, Verb]] = {}

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer's signature
        """Return the names of the verbs, in the order of the help."""
        return list(self.verbs)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - typer's signature
        """Import the verb's module and return the verb, or ``None`` if no verb has this name."""
        if cmd_name not in self.verbs:
            return None
        command = typer.main.get_command(import_module(self.verbs[cmd_name].module).app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - typer's signature
        """Write the list of verbs without importing their modules."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.help) for name, verb in self.verbs.items()])


class _Verb(TyperCommand):
    """Verb that rejects surplus arguments by name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, args)
        if rest:
            raise unexpected_argument(rest[0], ctx.command_path)
        return rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # typer would exit without a message
            raise Interrupted(signal.SIGINT) from None
        except MissingExtraError as error:
            tell_why(str(error), command=ctx.command_path)
            raise typer.Exit(2) from None


def tell_why(message: str, error: InputError | None = None, *, command: str = "vlane") -> None:
    """Write the reason of a failure to stderr: one line and an error's details, or with ``--json`` one JSON object."""
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
    """Return the ``InputError`` for an error of the command-line parser, ``None`` for any other error."""
    kind, parameter = type(error).__name__, getattr(error, "param", None)
    if not hasattr(error, "format_message"):
        return None
    context = getattr(error, "ctx", None)
    verb, options = (context.command_path, context.command.params) if context else ("vlane", [])
    if kind == "NoSuchOption":
        word = error.option_name  # type: ignore[attr-defined]
        known = [name for option in options for name in option.opts if name.startswith("-")]
        problem = f": unknown option (see `{verb} --help`)"
        return InputError(word, f"an option of {verb}", "unknown", problem=problem, meant=closest(word, known))
    if kind == "MissingParameter" and parameter is not None:
        return missing_value(_name(parameter), str(parameter.help).removesuffix("."))
    if kind == "BadParameter" and parameter is not None and type(error.__cause__).__name__ == "ValidationError":
        from vlane.documents.refusal import WORDS  # noqa: PLC0415 - pydantic raised it, so it is loaded by now

        wrong = error.__cause__.errors()[0]  # type: ignore[union-attr]
        if wrong["type"] in WORDS:
            return InputError(_name(parameter), WORDS[wrong["type"]](wrong.get("ctx", {})), wrong["input"])
    if kind == "BadOptionUsage":
        word = error.option_name  # type: ignore[attr-defined]
        is_flag = any(each.startswith(f"{word}=") for each in sys.argv)
        must, got = ("given without a value", "with one") if is_flag else ("given with a value", "without one")
        return InputError(word, must, got, problem="takes no value" if is_flag else "needs a value")
    message = str(error.format_message()).removesuffix(".")
    problem = f": {message} (see `{verb} --help`)"
    return InputError("command line", f"as {verb} --help describes", message, problem=problem)


def unexpected_argument(word: str, verb: str) -> InputError:
    """Return the error about a surplus argument of a verb."""
    problem = f": unexpected argument (see `{verb} --help`)"
    return InputError(word, "left out", "given", problem=problem)


def _name(parameter: Any) -> str:
    """Return an option's longest name, or an argument's name in the help."""
    if parameter.param_type_name == "option":
        return max(parameter.opts, key=len)
    return (parameter.metavar or parameter.name).strip("[].").upper()
