"""Parameters of the InfiniBand switch (``docs/ib_switch.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vlane.congestion.cc_marker import (
    BUSY_BLOCKS,
    IDLE_BLOCKS,
    LEVEL_BLOCKS,
    MAX_LEVEL,
    MEASURES,
    OF_INPUTS,
    OF_OUTPUT,
    CCMarkerParameters,
)
from vlane.credits.credit_schemes import CREDIT_SCHEMES, RETURNS
from vlane.errors import InputError, misplaced
from vlane.packets.fcp import MAX_FCP_PERIOD
from vlane.parameters import check_range, choice, flag, whole
from vlane.switches.switch_kinds import EXACT, FAST, INFINIBAND, SwitchForm, SwitchKind
from vlane.switches.switch_parameters import SwitchParameters

_FCP_PERIOD = 1024
_MARKED_BITS = 128
_MOST_PAIRS = 128
_FORMS = INFINIBAND.hardware_forms
_CROSSBARS = tuple(dict.fromkeys(each.parameters["crossbar"] for each in _FORMS))
_ALLOCATIONS = tuple(dict.fromkeys(each.parameters["allocation"] for each in _FORMS))


@dataclass(frozen=True, eq=False, kw_only=True)
class IBSwitchParameters(SwitchParameters):
    """Parameters of ``ib_switch``.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    kind: ClassVar[SwitchKind] = INFINIBAND

    form: str = choice(EXACT, (EXACT, FAST), "decisions within a cycle, or in stages for a faster clock")
    crossbar: str = choice(_CROSSBARS[0], _CROSSBARS, "crossbar ports: one for all VLs of an input, or one per VL")
    allocation: str = choice(_ALLOCATIONS[0], _ALLOCATIONS, "allocation of outputs: round robin, or queued requests")
    speed: int = whole(1, 1, INFINIBAND.hardware_speed, "flits per cycle and input through the switch")
    credit: str = choice("returns", tuple(INFINIBAND.hardware_credits), "return of credits")
    fcp_blocks: int = whole(
        0, 0, MAX_FCP_PERIOD, "growth of a limit that triggers a flow-control packet; 0: a quarter of minimum"
    )
    marking: bool = flag(default=False, about="outputs mark packets with FECN")
    starving: bool = flag(default=False, about="with marking: inputs may delay returned credits (credit starvation)")
    measure: str = choice(OF_OUTPUT, MEASURES, "with marking: measured blocks, in output buffers or waiting at inputs")
    busy_blocks: int = whole(BUSY_BLOCKS, 0, MAX_LEVEL, "with marking: level from which a link is busy; 0: always")
    level_blocks: int = whole(LEVEL_BLOCKS, 1, MAX_LEVEL, "with marking: highest level, at least busy_blocks")
    idle_blocks: int = whole(IDLE_BLOCKS, 0, 255, "with marking: decrease of the level per idle cycle")
    fcp_period: int = whole(
        _FCP_PERIOD, 2, MAX_FCP_PERIOD, "period of the limits of all lanes in cycles, above data_vls"
    )

    @property
    def switch_form(self) -> SwitchForm:
        """Form of the switch."""
        return next(each for each in _FORMS if all(self[name] == value for name, value in each.parameters.items()))

    @property
    def inner_flits(self) -> int:
        """Flits per cycle and input through the switch."""
        return super().inner_flits * self.speed

    @property
    def marker(self) -> CCMarkerParameters | None:
        """Parameters of each output's marker, or ``None`` without marking."""
        if not self.marking:
            return None
        return CCMarkerParameters(
            data_vls=self.data_vls,
            maximum=self.maximum,
            largest=self.largest,
            measure_blocks=self.maximum,
            busy_blocks=self.busy_blocks,
            level_blocks=self.level_blocks,
            idle_blocks=self.idle_blocks,
            data_bits=self.data_bits,
        )

    @property
    def by_inputs(self) -> bool:
        """Whether markers measure packets that wait at the inputs instead of output buffers."""
        return self.measure == OF_INPUTS

    @property
    def starves(self) -> bool:
        """Whether inputs may delay returned credits."""
        return self.starving

    @property
    def fcp_times(self) -> tuple[int, int] | None:
        """Growth that triggers a limit, and period of all limits, or ``None`` without flow-control packets."""
        if not CREDIT_SCHEMES[self.credit].by_fcps:
            return None
        return self.fcp_blocks or max(1, self.minimum // 4), self.fcp_period

    def check(self) -> None:
        """Reject settings that do not suit the crossbar or the credit scheme."""
        super().check()
        if self.form == FAST:
            self._check_fast()
        allocations = [each.allocation for each in _FORMS if each.crossbar == self.crossbar and not each.late]
        if self.allocation not in allocations:
            raise InputError("allocation", f"{' or '.join(allocations)} with crossbar {self.crossbar}", self.allocation)
        self._check_marking()
        if self.speed > self.switch_form.most_speed:
            raise InputError("speed", self.switch_form.allowed(self.switch_form.most_speed), self.speed)
        if self.switch_form.vls_apart:
            if self.ports * self.data_vls > _MOST_PAIRS:
                most = (
                    f"at most {_MOST_PAIRS // self.data_vls} with data_vls {self.data_vls} and crossbar {self.crossbar}"
                )
                raise InputError("ports", most, self.ports)
            if self.maximum != self.minimum:
                raise InputError(
                    "maximum", f"equal to minimum, {self.minimum}, with crossbar {self.crossbar}", self.maximum
                )
        if CREDIT_SCHEMES[self.credit].by_fcps:
            check_range("fcp_blocks", self.fcp_blocks, 0, self.minimum)
            check_range("fcp_period", self.fcp_period, self.data_vls + 1, MAX_FCP_PERIOD)
            if self.maximum != self.minimum:
                raise InputError(
                    "maximum", f"equal to minimum, {self.minimum}, with credit {self.credit}", self.maximum
                )
            return
        for field, value, usual in (("fcp_blocks", self.fcp_blocks, 0), ("fcp_period", self.fcp_period, _FCP_PERIOD)):
            if value != usual:
                raise misplaced(field, f"with credit {self.credit}")

    def _check_fast(self) -> None:
        """Reject settings that only the exact form supports."""
        usual = (
            ("crossbar", _CROSSBARS[0]),
            ("allocation", _ALLOCATIONS[0]),
            ("speed", 1),
            ("credit", RETURNS.name),
            ("marking", False),
            ("line_rate", False),
        )
        for field, value in usual:
            if self[field] != value:
                raise InputError(field, f"{str(value).lower()} with form {FAST}", str(self[field]).lower())

    def _check_marking(self) -> None:
        """Reject marking where unsupported, and its settings without marking."""
        if not self.marking:
            usual = (
                ("starving", False),
                ("measure", OF_OUTPUT),
                ("busy_blocks", BUSY_BLOCKS),
                ("level_blocks", LEVEL_BLOCKS),
                ("idle_blocks", IDLE_BLOCKS),
            )
            for field, value in usual:
                if self[field] != value:
                    raise misplaced(field, "without marking")
            return
        if self.data_bits < _MARKED_BITS:
            must = f"at least {_MARKED_BITS} with marking (FECN is in the second word)"
            raise InputError("data_bits", must, self.data_bits)
        if self.starving and self.switch_form.vls_apart:
            raise InputError("starving", f"false with crossbar {self.crossbar}", "true")
        _ = self.marker  # checks the parameters of the marker
