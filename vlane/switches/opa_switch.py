"""Parameters of the Omni-Path switch (``docs/opa_switch.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vlane.errors import InputError
from vlane.switches.switch_kinds import OMNI_PATH, SwitchKind
from vlane.switches.switch_parameters import SwitchParameters, buffer_blocks, check_blocks


@dataclass(frozen=True, eq=False, kw_only=True)
class OPASwitchParameters(SwitchParameters):
    """Parameters of ``opa_switch``, whose ports are grouped into MPorts of four.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    kind: ClassVar[SwitchKind] = OMNI_PATH

    central_blocks: int = buffer_blocks(64, "blocks of each central buffer")
    central_minimum: int = buffer_blocks(4, "blocks of a central buffer reserved per lane")
    central_maximum: int = buffer_blocks(36, "largest number of blocks of a lane in a central buffer")

    def check(self) -> None:
        """Reject central buffers that the lanes cannot share."""
        super().check()
        check_blocks(
            vls=self.data_vls,
            blocks=self.central_blocks,
            minimum=self.central_minimum,
            maximum=self.central_maximum,
            prefix="central_",
        )
        if self.central_minimum < self.largest:
            raise InputError("central_minimum", f"at least largest, {self.largest}", self.central_minimum)
