"""Errors about bad input: one line that says where it is, what it must be and what it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, time
from decimal import Decimal
from difflib import get_close_matches

from vlane.shown import harmless

__all__ = ["InputError", "closest", "unknown_word"]

_SHOWN = 80
"""Largest number of characters of a value that are shown."""


class InputError(ValueError):
    """A value from outside that cannot be used.

    Parameters
    ----------
    field : str
        Key, column, option or file that was read.
    must : str
        What it must be: the words that follow "must be".
    got : object
        What it was.
    source : str
        File it came from; empty if it was no file.
    line : int
        Line of the file, counted from 1; 0 if unknown.
    details : sequence of str
        Further lines that follow the message, none of them shortened.
    meant : str
        The known word that is closest to an unknown one; empty if none is close.

    Attributes
    ----------
    shown : str
        What it was, as the message shows it: escaped, and shortened if it is long.
    """

    def __init__(
        self,
        field: str,
        must: str,
        got: object,
        *,
        source: str = "",
        line: int = 0,
        details: Sequence[str] = (),
        meant: str = "",
    ) -> None:
        self.details = tuple(map(harmless, details))
        self.field, self.must, self.got, self.source, self.line, self.meant = field, must, got, source, line, meant
        where = f"{source}:{line}: " if line else f"{source}: " if source else ""
        hint = f"; did you mean {meant}?" if meant else ""
        shown = harmless(_text(got))
        self.shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 3]}..."
        super().__init__(harmless(f"{where}{field} must be {must}, not {self.shown}{hint}"))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.field, self.must, self.got, self.source, self.line, self.details, self.meant)

    def at(self, source: str, line: int = 0) -> InputError:
        """Return the same error with the place where it was found."""
        line = line or self.line
        return InputError(
            self.field, self.must, self.got, source=source, line=line, details=self.details, meant=self.meant
        )


def unknown_word(field: str, known: Iterable[str], got: object) -> InputError:
    """Return the error about an unknown word, with the known word that may have been meant.

    Examples
    --------
    >>> str(unknown_word("--engine", ("native", "cocotb"), "natve"))
    '--engine must be one of native, cocotb, not natve; did you mean native?'
    """
    words = list(known)
    must = f"one of {', '.join(words)}" if len(words) > 1 else "".join(words)
    return InputError(field, must, got, meant=closest(got, words) if isinstance(got, str) else "")


def closest(word: str, known: Iterable[str]) -> str:
    """Return the known word most similar to a word, empty if none is similar; case is ignored.

    Examples
    --------
    >>> closest("Cycels", ["loads", "seeds", "cycles"])
    'cycles'
    """
    by_lower = {each.lower(): each for each in known}
    found = get_close_matches(word.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else ""


def _text(got: object) -> str:
    """Return a value as text; a very long whole number is not converted."""
    if isinstance(got, str):
        return got or '""'
    if isinstance(got, bool):
        return str(got).lower()
    if isinstance(got, date | time):
        return got.isoformat()
    try:
        return str(got) if isinstance(got, Decimal) else repr(got)
    except ValueError:
        return "a number far too long"
    except RecursionError:
        return "something nested too deep"


def _rebuild(
    field: str, must: str, got: object, source: str, line: int, details: tuple[str, ...], meant: str
) -> InputError:
    return InputError(field, must, got, source=source, line=line, details=details, meant=meant)
