"""Parameters of components: frozen records that are checked when they are constructed.

One record defines the hardware, golden state, stimulus, export and reference page of an instance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

from vlane.documents.textfile import number
from vlane.errors import InputError, unknown_word

_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def whole(default: int, least: int, most: int, about: str) -> Any:
    """Return the dataclass field of an integer parameter.

    Parameters
    ----------
    default : int
        Default value.
    least, most : int
        Smallest and largest allowed value.
    about : str
        Description for the reference page.
    """
    return dataclasses.field(default=default, metadata={"least": least, "most": most, "about": about})


def flag(*, default: bool, about: str) -> Any:
    """Return the dataclass field of a Boolean parameter. See ``whole`` for ``default`` and ``about``."""
    return dataclasses.field(default=default, metadata={"about": about})


def choice(default: str, words: tuple[str, ...], about: str) -> Any:
    """Return the dataclass field of a parameter that is one of several words (see ``whole``)."""
    return dataclasses.field(default=default, metadata={"words": words, "about": about})


def check_range(name: str, value: object, least: int, most: int) -> None:
    """Reject a value that is not an integer or out of range.

    Raises
    ------
    TypeError
        If the value is not an ``int``.
    InputError
        If the value is out of range; the error names the parameter.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, not {value!r}")
    if not least <= value <= most:
        raise InputError(name, f"{least} to {most}", value)


class Parameters(Mapping[str, Any]):
    """Parameters of a component, and a mapping from parameter names to values.

    A subclass is a frozen dataclass without its own ``eq``, with fields made by ``whole``, ``flag`` and ``choice``. It
    overrides ``check`` if fields constrain each other.

    Raises
    ------
    TypeError
        If a value does not have the type of its field.
    InputError
        If a value is out of range, or values are inconsistent; ``field`` is the name of the parameter.
    """

    def __post_init__(self) -> None:
        for each in dataclasses.fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            self._check_field(each, getattr(self, each.name))
        self.check()

    @staticmethod
    def _check_field(field: dataclasses.Field[Any], value: object) -> None:
        kind = type(field.default)
        if type(value) is not kind:
            raise TypeError(f"{field.name} must be {_A[kind]}, not {value!r}")
        if isinstance(value, int) and "least" in field.metadata:
            check_range(field.name, value, field.metadata["least"], field.metadata["most"])
        if isinstance(value, str) and value not in field.metadata["words"]:
            raise unknown_word(field.name, field.metadata["words"], value)

    def check(self) -> None:
        """Raise ``InputError`` if values are inconsistent. Each value is already within its own bounds."""

    def __hash__(self) -> int:
        return hash((type(self), *self.values()))

    def __getitem__(self, name: str) -> Any:
        if name not in self.defaults():
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.defaults())

    def __len__(self) -> int:
        return len(self.defaults())

    with_form: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Default values for each form that differ from the general defaults."""

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the default of every parameter by name, in order."""
        return {each.name: each.default for each in dataclasses.fields(cls)}  # type: ignore[arg-type]  # a dataclass

    @classmethod
    def words_of(cls, name: str) -> tuple[str, ...]:
        """Return the allowed words of a parameter, empty if there is no such parameter."""
        found = {each.name: each for each in dataclasses.fields(cls)}.get(name)  # type: ignore[arg-type]  # a dataclass
        return found.metadata["words"] if found else ()

    @classmethod
    def bounds_of(cls, name: str) -> tuple[int, int]:
        """Return the smallest and largest value of an integer parameter."""
        known = {each.name: each.metadata for each in dataclasses.fields(cls)}[name]  # type: ignore[arg-type]
        return known["least"], known["most"]

    def described(self) -> list[tuple[str, Any, str, str]]:
        """Return a row per parameter: name, value, allowed values and description."""
        rows = []
        for each in dataclasses.fields(self):  # type: ignore[arg-type]  # a dataclass
            known, may_be = each.metadata, "true or false"
            if "words" in known:
                may_be = ", ".join(known["words"])
            elif "least" in known:
                may_be = f"{known['least']} to {known['most']}"
            rows.append((each.name, getattr(self, each.name), may_be, known["about"]))
        return rows

    @classmethod
    def of_words(cls, words: Iterable[str], base: Mapping[str, Any]) -> Self:
        """Return parameters from ``NAME=VALUE`` words. Others come from ``base`` or are defaults.

        Raises
        ------
        InputError
            If a word is not ``NAME=VALUE``, names no parameter, or has a rejected value.
        """
        return cls.over(base, cls.values_of_words(words))

    @classmethod
    def fit_form(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values that the given form requires."""
        return cls.with_form.get(given.get("form", ""), {})

    @classmethod
    def over(cls, base: Mapping[str, Any], named: Mapping[str, Any]) -> Self:
        """Return parameters with named values. Others follow the form, come from ``base``, or are defaults.

        Raises
        ------
        InputError
            If a value is rejected.
        """
        given = {**base, **named}
        given |= {name: value for name, value in cls.fit_form(given).items() if name not in named}
        try:
            return cls(**given)
        except InputError as error:
            raise refused_parameter(error, "--param ") from None

    @classmethod
    def values_of_words(cls, words: Iterable[str]) -> dict[str, Any]:
        """Return the values of ``NAME=VALUE`` words, converted to their types but not checked.

        Raises
        ------
        InputError
            If a word is not ``NAME=VALUE``, names no parameter or one named before, or has a value of another type.
        """
        defaults, named = cls.defaults(), {}
        for word in words:
            name, equals, text = word.partition("=")
            if name not in defaults:
                raise unknown_word("--param", defaults, name)
            if not equals:
                raise InputError("--param", "NAME=VALUE", word)
            if name in named:
                raise InputError(f"--param {name}", "given once", "twice", problem="is given twice")
            named[name] = _value(name, text, type(defaults[name]))
        return named

    @classmethod
    def of_values(cls, given: Mapping[str, Any]) -> Self:
        """Return parameters with some values. Others are defaults of the named form.

        Raises
        ------
        InputError
            If a name is not a parameter, or a value is rejected or has another type.
        """
        defaults = cls.defaults()
        for name, value in given.items():
            if name not in defaults:
                raise unknown_word("parameter", defaults, name)
            kind = type(defaults[name])
            if type(value) is not kind:
                raise InputError(name, _WORDS[kind], value)
        return cls(**{**cls.fit_form(given), **given})


_WORDS = {int: "a whole number", bool: "true or false", str: "text"}
_A = {int: "an int", bool: "a bool", str: "a str"}


def refused_parameter(error: InputError, prefix: str) -> InputError:
    """Return a refusal with a prefix before its field."""
    return error.of(f"{prefix}{error.field}")


def _value(name: str, text: str, kind: type) -> Any:
    if kind is str:
        return text
    if kind is bool:
        if text.lower() not in _FLAGS:
            raise InputError(f"--param {name}", "true or false", text)
        return _FLAGS[text.lower()]
    value = number(text)
    if value is None:
        raise InputError(f"--param {name}", "a whole number of at most 19 digits", text)
    return value
