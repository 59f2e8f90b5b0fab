"""Refusal of bad input: one line that says where, what it must be and what it was."""

from __future__ import annotations

from decimal import Decimal

__all__ = ["InputError"]


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
    """

    def __init__(self, field: str, must: str, got: object, *, source: str = "", line: int = 0) -> None:
        self.field, self.must, self.got, self.source, self.line = field, must, got, source, line
        where = f"{source}:{line}: " if line else f"{source}: " if source else ""
        shown = "".join(c if c.isprintable() else "?" for c in (got if isinstance(got, str) else _text(got)))
        if len(shown) > 80:
            shown = shown[:77] + "..."
        super().__init__(f"{where}{field} must be {must}, not {shown}".replace("\n", " "))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.field, self.must, self.got, self.source, self.line)

    def at(self, source: str, line: int = 0) -> InputError:
        """Return the same refusal with the place it was found in."""
        return InputError(self.field, self.must, self.got, source=source, line=line or self.line)


def _text(got: object) -> str:
    """Return a value as people write it; a whole number may be too long to be written."""
    try:
        return str(got) if isinstance(got, Decimal) else repr(got)
    except ValueError:
        return "a number far too long"


def _rebuild(field: str, must: str, got: object, source: str, line: int) -> InputError:
    return InputError(field, must, got, source=source, line=line)
