"""Service levels of paths, one byte each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

NO_SL = 255
"""A pair without a path record, in arrays."""

_PAGE = 256


class PathSLs(Mapping[tuple[int, int], int]):
    """SL by (SLID, DLID), in pages of 256 destinations: a large fabric has millions of pairs."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}

    def put(self, slid: int, dlid: int, sl: int) -> int:
        """Set the SL of a pair, which replaces an earlier one; return the earlier SL, or ``NO_SL``."""
        page = self._pages.get(slid << 8 | dlid >> 8)
        if page is None:
            page = self._pages[slid << 8 | dlid >> 8] = bytearray(b"\xff" * _PAGE)
        before, page[dlid & 0xFF] = page[dlid & 0xFF], sl
        return before

    def copy(self) -> PathSLs:
        """Return a copy."""
        made = PathSLs()
        made._pages = {key: bytearray(page) for key, page in self._pages.items()}
        return made

    def of(self, slid: int, dlids: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the SLs of a source's paths to destinations of 16 bits; ``NO_SL`` without a record."""
        row = np.full(1 << 16, NO_SL, np.uint8)
        for number in np.unique(dlids >> 8).tolist():
            page = self._pages.get(slid << 8 | number)
            if page is not None:
                row[number << 8 : (number + 1) << 8] = np.frombuffer(page, np.uint8)
        return row[dlids]

    def __getitem__(self, pair: tuple[int, int]) -> int:
        slid, dlid = pair
        sl = self._pages[slid << 8 | dlid >> 8][dlid & 0xFF]
        if sl == NO_SL:
            raise KeyError(pair)
        return sl

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for key, page in self._pages.items():
            for low, sl in enumerate(page):
                if sl != NO_SL:
                    yield key >> 8, (key & 0xFF) << 8 | low

    def __len__(self) -> int:
        return sum(len(page) - page.count(NO_SL) for page in self._pages.values())
