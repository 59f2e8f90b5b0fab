"""Refusal of bad input: one line that says where, what it must be and what it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, time
from decimal import Decimal
from difflib import get_close_matches

from vlane.shown import harmless

__all__ = ["InputError", "closest", "unknown_word"]

_SHOWN = 80
"""Most characters that are shown of what was read."""


class InputError(ValueError):
    """A value from outside that cannot be used.

    Parameters
    ----------
    field : str
        What was read: a key, a column, a file.
    must : str
        What it must be, as the words that follow "must be".
    got : object
        What it was.
    source : str
        File it came from; empty if it was no file.
    line : int
        Line of the file, counted from 1; 0 if unknown.
    details : sequence of str
        What does not go into one line: lines that follow it, none of them cut.
    meant : str
        The known word that is closest to an unknown one; empty if none is close.

    Attributes
    ----------
    shown : str
        What it was, as the message shows it: harmless, and cut if it is long.
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
        """Return the same refusal with the place it was found in."""
        line = line or self.line
        return InputError(
            self.field, self.must, self.got, source=source, line=line, details=self.details, meant=self.meant
        )


def unknown_word(field: str, known: Iterable[str], got: object) -> InputError:
    """Return the refusal of a word that is none of the known ones, with the one that may have been meant.

    Examples
    --------
    >>> str(unknown_word("--engine", ("native", "cocotb"), "natve"))
    '--engine must be one of native, cocotb, not natve; did you mean native?'
    """
    words = list(known)
    must = f"one of {', '.join(words)}" if len(words) > 1 else "".join(words)
    return InputError(field, must, got, meant=closest(got, words) if isinstance(got, str) else "")


def closest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is most like a word, empty if none is like it; upper and lower case are alike.

    Examples
    --------
    >>> closest("Cycels", ["loads", "seeds", "cycles"])
    'cycles'
    """
    by_lower = {each.lower(): each for each in known}
    found = get_close_matches(word.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else ""


def _text(got: object) -> str:
    """Return a value as people write it; a whole number may be too long to be written."""
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
