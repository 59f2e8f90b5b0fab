"""SL to VL mapping of one pair of ports (IBA 7.6.6, 14.2.5.8)."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.documents.whole import whole_list
from vlane.errors import InputError
from vlane.parameters import Parameters, whole
from vlane.units import MAX_DATA_VLS

__all__ = ["SL_COUNT", "VL_DROP", "SL2VLParameters", "SL2VLRow"]

SL_COUNT = 16
VL_DROP = 15
"""VL in the table that drops packets."""


@dataclass(frozen=True, slots=True)
class SL2VLRow:
    """VL of each service level.

    Parameters
    ----------
    row : tuple of int
        List of 16 VLs, 0 to 15, by SL; 15 drops packets.

    Raises
    ------
    InputError
        If a VL is out of range; the error names the SL.

    Examples
    --------
    >>> SL2VLRow(tuple(sl % 4 for sl in range(16))).owners()
    {0: 0, 1: 1, 2: 2, 3: 3}
    """

    row: tuple[int, ...]

    def __post_init__(self) -> None:
        checked = whole_list("sl2vl.row", self.row, least=0, most=VL_DROP, longest=SL_COUNT)
        if len(checked) != SL_COUNT:
            raise InputError("sl2vl.row", f"a list of {SL_COUNT} numbers", f"{len(checked)} numbers")
        object.__setattr__(self, "row", checked)

    def owners(self) -> dict[int, int]:
        """Return the requester of each VL in use, its lowest SL. VL15 has none."""
        return {vl: self.row.index(vl) for vl in sorted(set(self.row)) if vl != VL_DROP}


@dataclass(frozen=True, eq=False, kw_only=True)
class SL2VLParameters(Parameters):
    """Parameters of ``sl2vl``.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    inputs: int = whole(8, 1, 64, "input ports")
    outputs: int = whole(8, 1, 64, "output ports")
    data_vls: int = whole(8, 1, MAX_DATA_VLS, "data lanes; other lanes in a row are invalid")
