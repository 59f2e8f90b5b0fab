"""Errors about bad input: one line with the place, the problem and the fix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, time
from decimal import Decimal
from difflib import get_close_matches

from vlane.shown import harmless

__all__ = ["InputError", "closest", "misplaced", "missing_value", "shown", "unknown_word"]

_SHOWN = 80
"""Largest number of characters of a value in a message."""


class InputError(ValueError):
    """Bad input.

    The message is "FIELD must be MUST, not GOT", or "FIELD PROBLEM" if a problem is given. Problems describe missing
    files, conflicts and whatever else is no value out of range.

    Parameters
    ----------
    field : str
        Key, column, option or file with the error.
    must : str
        Accepted values: the words that follow "must be".
    got : object
        Rejected value.
    problem : str
        Words that follow the field in the message, for example "cannot be used with connections". A problem that
        begins with a colon follows the field without a space.
    source : str
        File with the error; empty if the input is not from a file.
    line : int
        Line of the file, counted from 1; 0 if unknown.
    details : sequence of str
        Further lines to print below the message, never shortened.
    meant : str
        Known word closest to an unknown word; empty if none is close.

    Attributes
    ----------
    shown : str
        Rejected value as the message shows it: escaped, and shortened if it is long.
    """

    def __init__(
        self,
        field: str,
        must: str,
        got: object,
        *,
        problem: str = "",
        source: str = "",
        line: int = 0,
        details: Sequence[str] = (),
        meant: str = "",
    ) -> None:
        self.details = tuple(map(harmless, details))
        self.field, self.must, self.got, self.problem = field, must, got, problem
        self.source, self.line, self.meant = source, line, meant
        where = f"{source}:{line}: " if line else f"{source}: " if source else ""
        hint = f"; did you mean {meant}?" if meant else ""
        self.shown = shown(got)
        words = problem or f"must be {must}, not {self.shown}"
        said = f"{field}{words}" if words.startswith(":") else f"{field} {words}"
        super().__init__(harmless(f"{where}{said}{hint}"))

    def __reduce__(self) -> tuple[object, ...]:
        place = (self.source, self.line)
        return _rebuild, (self.field, self.must, self.got, self.problem, *place, self.details, self.meant)

    def at(self, source: str, line: int = 0) -> InputError:
        """Return this error with a place in a file."""
        return _rebuild(
            self.field, self.must, self.got, self.problem, source, line or self.line, self.details, self.meant
        )

    def of(self, field: str) -> InputError:
        """Return this error about another field, for example with its section, and without a place."""
        return _rebuild(field, self.must, self.got, self.problem, "", 0, self.details, self.meant)


def shown(got: object) -> str:
    r"""Return a value as messages show it: escaped, and shortened to 80 characters.

    Examples
    --------
    >>> shown("a\tb"), shown(True)
    ('a\\tb', 'true')
    """
    text = harmless(_text(got))
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def missing_value(field: str, why: str = "", *, source: str = "", line: int = 0) -> InputError:
    """Return the error about a value that must be given.

    Examples
    --------
    >>> str(missing_value("--rtl", "list the switches to simulate in hardware"))
    '--rtl is missing: list the switches to simulate in hardware'
    """
    problem = f"is missing: {why}" if why else "is missing"
    return InputError(field, "given", "missing", problem=problem, source=source, line=line)


def misplaced(field: str, why: str, *, source: str = "", line: int = 0) -> InputError:
    """Return the error about a value that must be left out.

    Examples
    --------
    >>> str(misplaced("run.precision", "with connections"))
    'run.precision cannot be used with connections'
    """
    must, problem = f"left out {why}", f"cannot be used {why}"
    return InputError(field, must, "given", problem=problem, source=source, line=line)


def unknown_word(field: str, known: Iterable[str], got: object) -> InputError:
    """Return the error about an unknown word, with the closest known word as a suggestion.

    Examples
    --------
    >>> str(unknown_word("--engine", ("native", "cocotb"), "natve"))
    '--engine must be one of native, cocotb, not natve; did you mean native?'
    """
    words = list(known)
    must = f"one of {', '.join(words)}" if len(words) > 1 else "".join(words)
    return InputError(field, must, got, meant=closest(got, words) if isinstance(got, str) else "")


def closest(word: str, known: Iterable[str]) -> str:
    """Return the known word most similar to a word, ignoring case, or an empty text if none is similar.

    Examples
    --------
    >>> closest("Cycels", ["loads", "seeds", "cycles"])
    'cycles'
    """
    by_lower = {each.lower(): each for each in known}
    found = get_close_matches(word.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else ""


def _text(got: object) -> str:
    """Return a value as text. A very long whole number is not converted."""
    if isinstance(got, str):
        return got or '""'
    if isinstance(got, bool):
        return str(got).lower()
    if isinstance(got, date | time):
        return got.isoformat()
    try:
        return str(got) if isinstance(got, Decimal) else repr(got)
    except ValueError:
        return "a number with too many digits"
    except RecursionError:
        return "a value nested too deep"


def _rebuild(
    field: str, must: str, got: object, problem: str, source: str, line: int, details: tuple[str, ...], meant: str
) -> InputError:
    return InputError(field, must, got, problem=problem, source=source, line=line, details=details, meant=meant)
