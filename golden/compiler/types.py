"""Types of translated code: numbers, arrays, records, NamedTuples, tuples.

Types are interned: two types are equal if and only if they are the same object. ``docs/compiler.md`` lists the type of
each Python value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Records


class Type:
    """A type of translated code."""

    text: str
    """Name of the type in error messages."""

    cpp: str
    """C++ name of the type; empty for ``Struct`` and ``Kind``, which a program names."""

    def __repr__(self) -> str:
        return self.text


class Number(Type):
    """A whole number or a truth value."""

    def __init__(self, text: str, cpp: str) -> None:
        self.text, self.cpp = text, cpp


INT = Number("an integer", "int64_t")
UINT = Number("an unsigned integer", "uint64_t")
BOOL = Number("a truth value", "bool")
VOID = Number("no value", "void")
RANGE = Number("a range", "rt::Range")
COUNTERS = Number("counters that are never read", "rt::Counters")

_ELEMENTS = {
    "bool": ("bool", BOOL),
    "int8": ("int8_t", INT),
    "int16": ("int16_t", INT),
    "int32": ("int32_t", INT),
    "int64": ("int64_t", INT),
    "uint8": ("uint8_t", INT),
    "uint16": ("uint16_t", INT),
    "uint32": ("uint32_t", INT),
    "uint64": ("uint64_t", UINT),
}
"""C++ type of an array's element and type of its value, by dtype name."""


class Array(Type):
    """A contiguous array of numbers.

    Parameters
    ----------
    element : str
        Name of the dtype.
    ndim : int
        Number of dimensions.
    """

    element: str
    ndim: int
    item: Number
    item_cpp: str
    _known: dict[tuple[str, int], Array] = {}  # noqa: RUF012 - the table that makes equal types one object

    def __new__(cls, element: str, ndim: int) -> Array:
        """Return the interned type."""
        made = cls._known.get((element, ndim))
        if made is None:
            made = cls._known[element, ndim] = super().__new__(cls)
            made.element, made.ndim = element, ndim
            made.item_cpp, made.item = _ELEMENTS[element]
            made.text = f"an array of {element} in {ndim} dimension{'s' if ndim > 1 else ''}"
            made.cpp = f"rt::Array<{made.item_cpp}, {ndim}>"
        return made

    @property
    def is_narrow(self) -> bool:
        """Whether C++ would compute with fewer than 64 bits."""
        return self.element not in {"int64", "uint64", "bool"}


class Kind(Type):
    """Layout of a record.

    Parameters
    ----------
    name : str
        Name of the class that describes the record.
    fields : tuple of (str, str)
        Names and dtypes, in order, without padding.
    """

    name: str
    fields: tuple[tuple[str, str], ...]
    _known: dict[tuple[str, tuple[tuple[str, str], ...]], Kind] = {}  # noqa: RUF012 - as above

    def __new__(cls, name: str, fields: tuple[tuple[str, str], ...]) -> Kind:
        """Return the interned type."""
        made = cls._known.get((name, fields))
        if made is None:
            made = cls._known[name, fields] = super().__new__(cls)
            made.name, made.fields, made.cpp = name, fields, ""
            made.text = f"a record {name}"
        return made

    def element(self, field: str) -> str | None:
        """Return the dtype of a field, ``None`` for an unknown field."""
        return dict(self.fields).get(field)


class Record(Type):
    """A single record of an array of records."""

    kind: Kind
    _known: dict[Kind, Record] = {}  # noqa: RUF012 - as above

    def __new__(cls, kind: Kind) -> Record:
        """Return the interned type."""
        made = cls._known.get(kind)
        if made is None:
            made = cls._known[kind] = super().__new__(cls)
            made.kind, made.text, made.cpp = kind, kind.text, ""
        return made


class RecordArray(Type):
    """An array of records (``Records``)."""

    kind: Kind
    ndim: int
    _known: dict[tuple[Kind, int], RecordArray] = {}  # noqa: RUF012 - as above

    def __new__(cls, kind: Kind, ndim: int) -> RecordArray:
        """Return the interned type."""
        made = cls._known.get((kind, ndim))
        if made is None:
            made = cls._known[kind, ndim] = super().__new__(cls)
            made.kind, made.ndim, made.cpp = kind, ndim, ""
            made.text = f"records {kind.name} in {ndim} dimension{'s' if ndim > 1 else ''}"
        return made


class Struct(Type):
    """A NamedTuple with fields of certain types.

    Parameters
    ----------
    tuple_class : type
        Class of the NamedTuple.
    item_types : tuple of Type
        Types of the fields, in order.
    """

    tuple_class: Any
    item_types: tuple[Type, ...]
    places: dict[str, int]
    _known: dict[tuple[type, tuple[Type, ...]], Struct] = {}  # noqa: RUF012 - as above

    def __new__(cls, made: type, items: tuple[Type, ...]) -> Struct:
        """Return the interned type."""
        struct = cls._known.get((made, items))
        if struct is None:
            struct = cls._known[made, items] = super().__new__(cls)
            struct.tuple_class, struct.item_types, struct.cpp = made, items, ""
            struct.text = f"a {made.__name__}"
            struct.places = {name: place for place, name in enumerate(made._fields)}  # type: ignore[attr-defined]
        return struct

    def field(self, name: str) -> Type | None:
        """Return the type of a field, ``None`` for an unknown field."""
        place = self.places.get(name)
        return None if place is None else self.item_types[place]


class Tuple(Type):
    """A tuple without names."""

    item_types: tuple[Type, ...]
    _known: dict[tuple[Type, ...], Tuple] = {}  # noqa: RUF012 - as above

    def __new__(cls, items: tuple[Type, ...]) -> Tuple:
        """Return the interned type."""
        made = cls._known.get(items)
        if made is None:
            made = cls._known[items] = super().__new__(cls)
            made.item_types, made.cpp = items, ""
            made.text = f"a tuple of {len(items)}"
        return made

    @property
    def is_uniform(self) -> bool:
        """Whether all items have the same type, so that the index may be a variable."""
        return len(set(self.item_types)) == 1


def joined(first: Type, second: Type) -> Type | None:
    """Return the type of a variable that holds values of both types, ``None`` if there is none.

    A truth value becomes an integer. Signed and unsigned numbers have no common type.
    """
    if first is second:
        return first
    if {first, second} == {INT, BOOL}:
        return INT
    if isinstance(first, Tuple) and isinstance(second, Tuple) and len(first.item_types) == len(second.item_types):
        items = [joined(*pair) for pair in zip(first.item_types, second.item_types, strict=True)]
        return None if None in items else Tuple(tuple(items))  # type: ignore[arg-type]  # none of them is None
    return None


_array_types: dict[tuple[Any, int], Array] = {}
"""Array types by dtype and number of dimensions, a cache because looking up a dtype's name is slow."""


def type_of(value: Any, words: list[int] | None = None) -> Type:
    """Return the type of a Python value, and append the words that represent it to ``words``, if given.

    An array is represented by its address and shape, a tuple by the words of its items, a number by itself.

    Raises
    ------
    TypeError
        If translated code has no such values, or an array is not contiguous.
    """
    made = type(value)
    if made is int or made is bool:
        if words is not None:
            words.append(value)
        return INT if made is int else BOOL
    if made is np.ndarray:
        return _array_type(value, words)
    if isinstance(value, tuple):
        items = tuple([type_of(each, words) for each in value])
        return Struct(made, items) if hasattr(made, "_fields") else Tuple(items)
    if made is Records:
        if words is not None:
            words.append(value.array.__array_interface__["data"][0])
            words.extend(value.array.shape)
        return RecordArray(kind_of(value), value.array.ndim)
    if isinstance(value, np.ndarray):
        return _array_type(value, words)
    if not isinstance(value, int | np.integer | np.bool_):
        raise TypeError(f"a value of type {made.__name__} cannot be passed to a kernel")
    if words is not None:
        words.append(int(value))
    return BOOL if isinstance(value, np.bool_) else UINT if made is np.uint64 else INT


def _array_type(value: NDArray[Any], words: list[int] | None) -> Array:
    found = _array_types.get((value.dtype, value.ndim))
    if found is None:
        if value.dtype.name not in _ELEMENTS:
            raise TypeError(f"an array of {value.dtype} cannot be passed to a kernel")
        found = _array_types[value.dtype, value.ndim] = Array(value.dtype.name, value.ndim)
    if not value.flags.c_contiguous:
        raise TypeError(f"an array of shape {value.shape} must be contiguous")
    if words is not None:
        words.append(value.__array_interface__["data"][0])
        words.extend(value.shape)
    return found


_kinds: dict[tuple[str, Any], Kind] = {}
"""Layouts by record name and dtype."""


def kind_of(records: Records[Any]) -> Kind:
    """Return the layout of records."""
    dtype: Any = records.array.dtype
    found = _kinds.get((records.kind, dtype))
    if found is None:
        fields = tuple((name, dtype.fields[name][0].name) for name in dtype.names)
        found = _kinds[records.kind, dtype] = Kind(records.kind, fields)
    return found
