"""Arrays of records: what belongs to one thing lies together, and a field of it is as near as a variable."""

from __future__ import annotations

from typing import Annotated, Any, Protocol, TypeVar, get_type_hints, overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["Int32", "Int64", "Records", "new_records"]

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

Int32 = Annotated[int, np.int32]
Int64 = Annotated[int, np.int64]


class Records(Protocol[R_co]):
    """One or more dimensions of like records; whoever holds one of them writes into the array."""

    @overload
    def __getitem__(self, place: int | tuple[int, int]) -> R_co: ...
    @overload
    def __getitem__(self, place: str) -> NDArray[Any]: ...
    def __getitem__(self, place: Any) -> Any:
        """Return the record at a place, or one field of all."""

    def __setitem__(self, place: int | slice | str, value: Any) -> None:
        """Copy records, or one field of all."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Return how many there are, along each dimension."""

    def __len__(self) -> int:
        """Return how many there are, along the first dimension."""


def new_records(kind: type[R], *counts: int) -> Records[R]:
    """Return records that are all zero; the fields are the class's annotations, ``Int32`` or ``Int64``."""
    fields = [(name, hint.__metadata__[0]) for name, hint in get_type_hints(kind, include_extras=True).items()]
    return np.zeros(counts, np.dtype((np.record, fields)))
