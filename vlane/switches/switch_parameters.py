"""Parameters shared by both switches (``docs/ib_switch.md``, ``docs/opa_switch.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from vlane.congestion.cc_marker import CCMarkerParameters
from vlane.errors import InputError
from vlane.parameters import Parameters, check_range, choice, flag, whole
from vlane.schedulers.registry import DEFAULT, SCHEDULERS
from vlane.switches.switch_kinds import SwitchForm, SwitchKind
from vlane.tables.lft import MAX_ENTRIES
from vlane.units import HEADER_BITS, MAX_BUFFER_BLOCKS, MAX_PACKET_BLOCKS

_MAX_DATA_BITS = 512


def buffer_blocks(default: int, about: str) -> Any:
    """Return the dataclass field of a size in buffer blocks."""
    return whole(default, 1, MAX_BUFFER_BLOCKS, about)


def check_blocks(*, vls: int, blocks: int, minimum: int, maximum: int, prefix: str = "") -> None:
    """Reject sizes with which lanes cannot share a buffer.

    Raises
    ------
    InputError
        If a size is out of range; the error names the parameter with the prefix.
    """
    check_range(f"{prefix}blocks", blocks, 2, MAX_BUFFER_BLOCKS)
    check_range(f"{prefix}minimum", minimum, 1, blocks // vls)
    check_range(f"{prefix}maximum", maximum, minimum, blocks - (vls - 1) * minimum)


@dataclass(frozen=True, eq=False, kw_only=True)
class SwitchParameters(Parameters):
    """Parameters of a switch.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    kind: ClassVar[SwitchKind]

    ports: int = whole(8, 2, 48, "ports")
    data_vls: int = whole(8, 2, 31, "data lanes; at most 15 in an InfiniBand switch or if the scheduler has at most 15")
    blocks: int = buffer_blocks(64, "blocks of each input and output buffer, and of the link partners' buffers")
    minimum: int = buffer_blocks(4, "blocks reserved per lane")
    maximum: int = buffer_blocks(36, "largest number of blocks of a lane")
    largest: int = whole(4, 1, MAX_PACKET_BLOCKS, "blocks of the largest packet, at most minimum")
    scheduler: str = choice(DEFAULT, tuple(SCHEDULERS), "scheduler of every output")
    entries: int = whole(8, 1, 128, "entries of the scheduler's table, if it has one")
    line_rate: bool = flag(default=False, about="line-rate form of the scheduler")
    lids: int = whole(64, 2, MAX_ENTRIES, "entries of the forwarding table")
    data_bits: int = whole(64, HEADER_BITS, _MAX_DATA_BITS, "transported bits of a 64-byte flit, a multiple of 64")

    def check(self) -> None:
        """Reject buffers, schedulers and widths that do not fit together."""
        check_range("data_vls", self.data_vls, 2, self.kind.most_vls)
        check_blocks(vls=self.data_vls, blocks=self.blocks, minimum=self.minimum, maximum=self.maximum)
        check_range("largest", self.largest, 1, min(self.minimum, MAX_PACKET_BLOCKS))
        if self.line_rate and not SCHEDULERS[self.scheduler].has_line_rate:
            raise InputError("line_rate", f"false with scheduler {self.scheduler}", "true")
        self.of_scheduler()
        if self.data_bits % HEADER_BITS:
            raise InputError("data_bits", f"a multiple of {HEADER_BITS}", self.data_bits)

    @property
    def switch_form(self) -> SwitchForm:
        """Combination of allocation and crossbar."""
        return self.kind.hardware_forms[0]

    @property
    def inner_flits(self) -> int:
        """Flits per cycle and input through the switch."""
        return self.kind.inner_flits

    @property
    def marker(self) -> CCMarkerParameters | None:
        """Parameters of each output's marker, or ``None`` if the switch does not mark packets."""
        return None

    @property
    def by_inputs(self) -> bool:
        """Whether markers measure packets that wait at the inputs."""
        return False

    @property
    def starves(self) -> bool:
        """Whether inputs may delay returned credits."""
        return False

    def of_scheduler(self) -> Parameters:
        """Return the parameters of an output's scheduler: a requester per lane, no VL15."""
        scheduler = SCHEDULERS[self.scheduler]
        chosen = scheduler.switch_parameters(self.entries, line_rate=self.line_rate)
        return scheduler.parameters(**{"data_vls": self.data_vls, "vl15": False, **chosen})
