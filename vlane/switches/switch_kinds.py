"""Switch kinds: one record per kind lists its properties. Other code never tests for a kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from vlane.credits.credit_schemes import CREDIT_SCHEMES, RETURNS, CreditScheme
from vlane.egress import MAX_SCHEDULER_VLS
from vlane.switches.mports import INNER_FLITS, OPA_PORTS
from vlane.tables.sc import SC15, SC_COUNT
from vlane.tables.sl2vl import SL_COUNT
from vlane.units import MAX_DATA_VLS

MOST_ITERATIONS = 8
"""Largest number of allocation iterations per cycle in an InfiniBand switch."""

MOST_SPEED = 2
"""Largest number of flits per cycle and input through an InfiniBand switch."""

EXACT, FAST = "exact", "fast"
"""Values of the hardware's parameter ``form``."""

_TURNS = "turns"


@dataclass(frozen=True, slots=True)
class SwitchForm:
    """Combination of allocation and crossbar of a switch kind.

    Parameters
    ----------
    allocation, crossbar : str
        Values of ``switch.allocation`` and ``switch.crossbar`` in a study.
    vls_apart : bool
        Whether packets of different VLs can cross from an input, and to an output, at the same time. Each VL then needs
        a separate part of a buffer.
    queues : bool
        Whether requests are served in order of arrival, each if its packet fits; otherwise inputs are served round
        robin, if the largest packet fits.
    in_hardware : bool
        Whether the form exists in hardware.
    most_iterations : int
        Largest value of ``switch.iterations``; hardware makes one iteration.
    most_speed : int
        Largest value of ``switch.speed``, relative to the speed of the kind.
    marks : bool
        Whether outputs can mark packets for congestion control.
    by_flit : bool
        Whether every flit is granted separately, several flits of an input in a cycle if the kind has several
        ``inner_flits``.
    late : bool
        Whether decisions use state that is some cycles old (``docs/fast_switch.md``). In hardware this is ``form =
        "fast"``.
    """

    allocation: str
    crossbar: str
    vls_apart: bool = False
    queues: bool = False
    in_hardware: bool = False
    most_iterations: int = 1
    most_speed: int = 1
    marks: bool = False
    by_flit: bool = False
    late: bool = False

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters of the hardware that select this form.

        Examples
        --------
        >>> SwitchForm("bids", "multiplexed", late=True).parameters
        {'form': 'fast', 'crossbar': 'multiplexed', 'allocation': 'turns'}
        """
        allocation = _TURNS if self.late else self.allocation
        return {"form": FAST if self.late else EXACT, "crossbar": self.crossbar, "allocation": allocation}

    def allowed(self, most: int) -> str:
        """Return the values that this form allows up to ``most``, as text.

        Examples
        --------
        >>> SwitchForm("turns", "per_vl").allowed(1)
        '1 with allocation turns and crossbar per_vl'
        """
        numbers = f"1 to {most}" if most > 1 else "1"
        return f"{numbers} with allocation {self.allocation} and crossbar {self.crossbar}"


@dataclass(frozen=True, slots=True)
class SwitchKind:
    """Properties of a switch kind.

    Parameters
    ----------
    name : str
        Value of ``switch.kind`` in a study.
    technology : str
        Name in messages.
    block : str
        Name of the hardware block.
    most_ports : int or None
        Largest number of ports of a golden switch; ``None`` if only memory limits it.
    by_channel : bool
        Whether packets carry a service channel (SC), which selects the VL at every output; otherwise packets carry a
        VL, and SL2VL tables select the next one.
    has_centre : bool
        Whether ports are grouped into MPorts, each with a central buffer.
    skips_vl15 : bool
        Whether data lanes from 15 on are VLs one number higher, because VL15 carries no data.
    most_vls : int
        Largest number of data lanes.
    levels : int
        Number of service levels.
    vl_bits : int
        Width of a VL on a link in hardware.
    inner_flits : int
        Flits per cycle and input through the switch.
    write_ports : int
        Number of packets that can enter an output buffer at the same time.
    link_maps : tuple of str
        Keys of ``[link]`` in a study that map service levels or channels to VLs.
    credits : tuple of CreditScheme
        Supported credit schemes, the default first.
    forms : tuple of SwitchForm
        Supported forms, the default first.
    takes_captured : bool
        Whether tables of a captured fabric fit this kind.
    """

    name: str
    technology: str
    block: str
    most_ports: int | None
    by_channel: bool
    has_centre: bool
    skips_vl15: bool
    most_vls: int
    levels: int
    vl_bits: int
    inner_flits: int
    write_ports: int
    link_maps: tuple[str, ...]
    credits: tuple[CreditScheme, ...]
    forms: tuple[SwitchForm, ...]
    takes_captured: bool

    @property
    def hardware_credits(self) -> tuple[str, ...]:
        """Names of the credit schemes in hardware. With several, the block has a parameter ``credit``."""
        return tuple(each.name for each in self.credits if each.in_hardware)

    @property
    def hardware_forms(self) -> tuple[SwitchForm, ...]:
        """Forms in hardware. With several, the block has parameters ``crossbar`` and ``allocation``."""
        return tuple(each for each in self.forms if each.in_hardware)

    @property
    def hardware_speed(self) -> int:
        """Largest ``most_speed`` in hardware. Above 1, the block has a parameter ``speed``."""
        return max(each.most_speed for each in self.hardware_forms)

    def form(self, allocation: str, crossbar: str) -> SwitchForm | None:
        """Return the form with this allocation and crossbar, None if there is none."""
        return next((each for each in self.forms if (each.allocation, each.crossbar) == (allocation, crossbar)), None)

    def vl_of_lane(self, lane: int) -> int:
        """Return the VL that a data lane is.

        Examples
        --------
        >>> [INFINIBAND.vl_of_lane(14), OMNI_PATH.vl_of_lane(14), OMNI_PATH.vl_of_lane(15)]
        [14, 14, 16]
        """
        return lane + (self.skips_vl15 and lane >= SC15)


INFINIBAND = SwitchKind(
    name="ib",
    technology="InfiniBand",
    block="ib_switch",
    most_ports=None,
    by_channel=False,
    has_centre=False,
    skips_vl15=False,
    most_vls=MAX_DATA_VLS,
    levels=SL_COUNT,
    vl_bits=4,
    inner_flits=1,
    write_ports=1,
    link_maps=("vl_of_sl",),
    credits=tuple(CREDIT_SCHEMES.values()),
    forms=(
        SwitchForm(
            "turns", "multiplexed", in_hardware=True, most_iterations=MOST_ITERATIONS, most_speed=MOST_SPEED, marks=True
        ),
        SwitchForm("fifo", "multiplexed", queues=True, marks=True),
        SwitchForm("turns", "per_vl", vls_apart=True, in_hardware=True, marks=True),
        SwitchForm("fifo", "per_vl", vls_apart=True, queues=True, in_hardware=True, marks=True),
        SwitchForm("turns", "flits", by_flit=True),
        SwitchForm("bids", "multiplexed", in_hardware=True, late=True),
    ),
    takes_captured=True,
)

OMNI_PATH = SwitchKind(
    name="opa",
    technology="Omni-Path",
    block="opa_switch",
    most_ports=OPA_PORTS,
    by_channel=True,
    has_centre=True,
    skips_vl15=True,
    most_vls=MAX_SCHEDULER_VLS,
    levels=SC_COUNT,
    vl_bits=5,
    inner_flits=INNER_FLITS,
    write_ports=2,
    link_maps=("sc_of_sl", "vl_of_sc"),
    credits=(RETURNS,),
    forms=(SwitchForm("turns", "multiplexed", in_hardware=True), SwitchForm("turns", "flits", by_flit=True)),
    takes_captured=False,
)

SWITCH_KINDS: Mapping[str, SwitchKind] = MappingProxyType({each.name: each for each in (INFINIBAND, OMNI_PATH)})
"""All switch kinds by name."""
