"""Parameters of the buffer of virtual lanes (``docs/vlbuffer.md``)."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.egress import MAX_REQUESTERS
from vlane.errors import InputError
from vlane.parameters import Parameters, check_range, choice, whole

MAX_FLITS = 8192


@dataclass(frozen=True, eq=False, kw_only=True)
class VLBufferParameters(Parameters):
    """Parameters of ``vlbuffer``.

    In the form ``shared``, lanes share the flits not reserved by minima. In the form ``static``, each lane has a fixed
    part, and minimum and maximum are equal.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    vls: int = whole(4, 1, MAX_REQUESTERS, "lanes")
    flits: int = whole(64, 2, MAX_FLITS, "total number of flits")
    minimum: int = whole(8, 0, MAX_FLITS, "flits guaranteed to each lane")
    maximum: int = whole(40, 1, MAX_FLITS, "largest number of flits of a lane")
    mtu_flits: int = whole(8, 1, MAX_FLITS, "flits of the largest packet")
    writers: int = whole(1, 1, 2, "write ports")
    readers: int = whole(1, 1, 2, "read ports")
    write_flits: int = whole(1, 1, 3, "flits per write port and cycle")
    read_flits: int = whole(1, 1, 3, "flits per read port and cycle")
    data_bits: int = whole(32, 1, 1024, "stored bits per flit")
    form: str = choice("shared", ("shared", "static"), "division of the storage among lanes")

    def check(self) -> None:
        """Reject minima that exceed the storage, and unreachable maxima."""
        check_range("minimum", self.minimum, 0, self.flits // self.vls)
        check_range("maximum", self.maximum, max(1, self.minimum), self.flits - (self.vls - 1) * self.minimum)
        check_range("mtu_flits", self.mtu_flits, 1, self.maximum)
        if self.form == "static" and self.minimum != self.maximum:
            raise InputError("minimum", f"equal to maximum, {self.maximum}, in the static form", self.minimum)
