"""Parameters that both switches have (``docs/ib_switch.md``, ``docs/opa_switch.md``)."""

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
    """Return the field of a size in the blocks of a buffer."""
    return whole(default, 1, MAX_BUFFER_BLOCKS, about)


def check_blocks(*, vls: int, blocks: int, minimum: int, maximum: int, prefix: str = "") -> None:
    """Refuse lanes that could not share a buffer so.

    Raises
    ------
    InputError
        Naming the parameter, after a prefix.
    """
    check_range(f"{prefix}blocks", blocks, 2, MAX_BUFFER_BLOCKS)
    check_range(f"{prefix}minimum", minimum, 1, blocks // vls)
    check_range(f"{prefix}maximum", maximum, minimum, blocks - (vls - 1) * minimum)


@dataclass(frozen=True, eq=False, kw_only=True)
class SwitchParameters(Parameters):
    """Parameters of a switch; what each is stands with its bounds.

    Raises
    ------
    TypeError, InputError
        As of ``Parameters``.
    """

    kind: ClassVar[SwitchKind]

    ports: int = whole(8, 2, 48, "ports")
    data_vls: int = whole(8, 2, 31, "lanes; at most 15 in an InfiniBand switch and with a scheduler of that many")
    blocks: int = buffer_blocks(64, "blocks of each input and output buffer, and of the buffers at the far ends")
    minimum: int = buffer_blocks(4, "blocks that each lane is guaranteed")
    maximum: int = buffer_blocks(36, "blocks that a lane may take")
    largest: int = whole(4, 1, MAX_PACKET_BLOCKS, "blocks of a lane's largest packet, up to minimum")
    scheduler: str = choice(DEFAULT, tuple(SCHEDULERS), "scheduler of every output")
    entries: int = whole(8, 1, 128, "entries of the scheduler's table, where it has one")
    line_rate: bool = flag(default=False, about="whether the scheduler is its line-rate form")
    lids: int = whole(64, 2, MAX_ENTRIES, "entries of the forwarding table")
    data_bits: int = whole(64, HEADER_BITS, _MAX_DATA_BITS, "bits carried of a 64-byte flit, a multiple of 64")

    def check(self) -> None:
        """Refuse buffers, schedulers and widths that do not fit together."""
        check_range("data_vls", self.data_vls, 2, self.kind.most_vls)
        check_blocks(vls=self.data_vls, blocks=self.blocks, minimum=self.minimum, maximum=self.maximum)
        check_range("largest", self.largest, 1, min(self.minimum, MAX_PACKET_BLOCKS))
        if self.line_rate and not SCHEDULERS[self.scheduler].has_line_rate:
            raise InputError("line_rate", f"false with scheduler {self.scheduler}", "true")
        self.of_scheduler()
        if self.data_bits % HEADER_BITS:
            raise InputError("data_bits", f"a multiple of {HEADER_BITS}", self.data_bits)

    @property
    def form(self) -> SwitchForm:
        """The form of its allocation and crossbar."""
        return self.kind.hardware_forms[0]

    @property
    def inner_flits(self) -> int:
        """Flits that cross in a cycle, from one input."""
        return self.kind.inner_flits

    @property
    def marker(self) -> CCMarkerParameters | None:
        """Parameters of each output's marker, of a switch that marks packets."""
        return None

    @property
    def by_inputs(self) -> bool:
        """Whether markers measure what waits at the inputs."""
        return False

    @property
    def starves(self) -> bool:
        """Whether inputs may hold room back."""
        return False

    def of_scheduler(self) -> Parameters:
        """Return the parameters of an output's scheduler: a requester for each lane, no VL15."""
        scheduler = SCHEDULERS[self.scheduler]
        chosen = scheduler.switch_parameters(self.entries, line_rate=self.line_rate)
        return scheduler.parameters(**{"data_vls": self.data_vls, "vl15": False, **chosen})
