"""Checks of whole numbers and of lists of whole numbers."""

from __future__ import annotations

from vlane.errors import InputError


def check_whole(field: str, value: object, least: int, most: int) -> None:
    """Raise ``InputError`` unless a value is a whole number from ``least`` to ``most``."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(field, f"{least} to {most}", value)


def whole_list(field: str, values: object, *, least: int, most: int, longest: int) -> tuple[int, ...]:
    """Return a list of 1 to ``longest`` whole numbers from ``least`` to ``most`` as a tuple.

    Raises
    ------
    InputError
        If the list or an element is rejected; names the element.
    """
    if not isinstance(values, tuple | list) or not 1 <= len(values) <= longest:
        got = f"{len(values)} numbers" if isinstance(values, tuple | list) else values
        raise InputError(field, f"a list of 1 to {longest} numbers", got)
    for index, value in enumerate(values):
        check_whole(f"{field}[{index}]", value, least, most)
    return tuple(values)
