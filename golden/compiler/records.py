"""Array-of-structs storage: the fields of a record are adjacent, and a field access compiles to one load.

``docs/engine.md`` shows how a kernel accesses a field.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Generic, TypeVar, get_type_hints, overload

import numpy as np
from numpy.typing import NDArray

R = TypeVar("R")

Int16 = Annotated[int, np.int16]
Int32 = Annotated[int, np.int32]
Int64 = Annotated[int, np.int64]


class Records(Generic[R]):
    """Records of one kind in one or two dimensions. A record is a view: a write to its field changes the array.

    Parameters
    ----------
    array : array of records
        Contiguous array, which is shared, not copied.
    kind : str
        Name of the class that describes a record; compiled code uses it as the name of the structure.
    """

    def __init__(self, array: NDArray[Any], kind: str) -> None:
        self.array, self.kind = array, kind

    @overload
    def __getitem__(self, place: int | tuple[int, int]) -> R: ...
    @overload
    def __getitem__(self, place: str) -> NDArray[Any]: ...
    def __getitem__(self, place: Any) -> Any:
        """Return the record at an index, or one field of all records."""
        return self.array[place]

    def __setitem__(self, place: slice | str, value: NDArray[Any] | Records[R] | int | Sequence[int]) -> None:
        """Copy records, or set one field of all records."""
        self.array[place] = value.array if isinstance(value, Records) else value

    def held_in(self, array: NDArray[Any]) -> Records[R]:
        """Return records of this kind with a different array as memory."""
        return Records(array, self.kind)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of records along each dimension."""
        return self.array.shape

    def __len__(self) -> int:
        """Return the number of records along the first dimension."""
        return len(self.array)


def new_records(kind: type[R], *counts: int) -> Records[R]:
    """Return zeroed records.

    The fields are the annotations of ``kind``: ``Int16``, ``Int32`` or ``Int64``.

    Raises
    ------
    TypeError
        If a field has the name of an attribute of numpy's records, because uncompiled code could not access it.
    """
    fields = [(name, hint.__metadata__[0]) for name, hint in get_type_hints(kind, include_extras=True).items()]
    hidden = [name for name, _ in fields if hasattr(np.record, name)]
    if hidden:
        raise TypeError(f"fields of {kind.__name__} are hidden by attributes of numpy's records: {', '.join(hidden)}")
    return Records(_aligned(counts, np.dtype((np.record, fields))), kind.__name__)


def _aligned(counts: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return zeroed records that start at a cache line, so that one of 2**n bytes lies in as few lines as possible."""
    size = math.prod(counts) * dtype.itemsize
    memory = np.zeros(size + _CACHE_LINE, np.uint8)
    first = -memory.ctypes.data % _CACHE_LINE
    return memory[first : first + size].view(dtype).reshape(counts)


_CACHE_LINE = 64
