"""Parameters of InfiniBand's absolute credits (``docs/credit_ib.md``)."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.packets.fcp import CREDIT_CAP, MAX_FCP_PERIOD
from vlane.parameters import Parameters, check_range, flag, whole
from vlane.units import MAX_DATA_VLS


@dataclass(frozen=True, eq=False, kw_only=True)
class CreditIBParameters(Parameters):
    """Parameters of ``credit_ib``.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    data_vls: int = whole(8, 1, MAX_DATA_VLS, "data lanes")
    buffer_blocks: int = whole(128, 1, 4095, "blocks of each lane's receive buffer")
    fcp_blocks: int = whole(
        0, 0, CREDIT_CAP, "growth of a credit limit that triggers a flow-control packet; 0: a quarter of the buffer"
    )
    fcp_period: int = whole(1024, 2, MAX_FCP_PERIOD, "period in cycles at which every limit is resent")
    watchdog_cycles: int = whole(
        6250, 2, MAX_FCP_PERIOD, "cycles without a flow-control packet until the watchdog fires"
    )
    parity: bool = flag(default=False, about="whether stored state has parity, so that upsets are detected")

    def check(self) -> None:
        """Reject a growth that exceeds the buffer."""
        check_range("fcp_blocks", self.fcp_blocks, 0, min(self.buffer_blocks, CREDIT_CAP))
