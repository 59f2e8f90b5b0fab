"""Parameters of the buffer of virtual lanes (``docs/vlbuffer.md``)."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.egress import MAX_REQUESTERS
from vlane.errors import InputError
from vlane.parameters import Parameters, check_range, choice, whole

MAX_FLITS = 8192


@dataclass(frozen=True, eq=False, kw_only=True)
class VLBufferParameters(Parameters):
    """Parameters of ``vlbuffer``; what each is stands with its bounds.

    In the form ``shared`` lanes share what no minimum reserves; in ``static`` each has its own part, and minimum and
    maximum are equal.

    Raises
    ------
    TypeError, InputError
        As of ``Parameters``.
    """

    vls: int = whole(4, 1, MAX_REQUESTERS, "lanes")
    flits: int = whole(64, 2, MAX_FLITS, "flits of the storage")
    minimum: int = whole(8, 0, MAX_FLITS, "flits that each lane is guaranteed")
    maximum: int = whole(40, 1, MAX_FLITS, "flits that a lane may take")
    mtu_flits: int = whole(8, 1, MAX_FLITS, "flits of the largest packet")
    writers: int = whole(1, 1, 2, "write ports")
    readers: int = whole(1, 1, 2, "read ports")
    write_flits: int = whole(1, 1, 3, "flits of a write port and cycle")
    read_flits: int = whole(1, 1, 3, "flits of a read port and cycle")
    data_bits: int = whole(32, 1, 1024, "carried bits of a flit")
    form: str = choice("shared", ("shared", "static"), "how lanes share the storage")

    def check(self) -> None:
        """Refuse minima that the storage does not hold, and maxima that it could not give."""
        check_range("minimum", self.minimum, 0, self.flits // self.vls)
        check_range("maximum", self.maximum, max(1, self.minimum), self.flits - (self.vls - 1) * self.minimum)
        check_range("mtu_flits", self.mtu_flits, 1, self.maximum)
        if self.form == "static" and self.minimum != self.maximum:
            raise InputError("minimum", f"maximum, {self.maximum}, in the static form", self.minimum)
