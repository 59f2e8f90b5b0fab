"""What every egress scheduler says of a decision, in golden and hardware alike."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ListCode"]


class ListCode(IntEnum):
    """The list a grant came from; schedulers without lists say ``NONE``."""

    NONE = 0
    HIGH = 1
    LOW = 2
    VL15 = 3

    @property
    def word(self) -> str:
        """The name in files and on the screen: ``none``, ``high``, ``low`` or ``vl15``."""
        return self.name.lower()
