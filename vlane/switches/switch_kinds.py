"""Switch kinds: one record for each kind says what it can do; nothing else asks which kind a switch is."""

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
"""Passes of the stages of an InfiniBand switch's allocation in a cycle."""

MOST_SPEED = 2
"""Flits that cross such a switch in a cycle, from one input."""


@dataclass(frozen=True, slots=True)
class SwitchForm:
    """A form of a switch kind's allocation and crossbar.

    Parameters
    ----------
    allocation, crossbar : str
        As ``switch.allocation`` and ``switch.crossbar`` of a study name them.
    vls_apart : bool
        Whether packets of different VLs cross from an input, and to an output, at the same time. Each VL then needs its
        part of a buffer.
    queues : bool
        Whether requests are served in the order in which they came, each if there is room for its packet; otherwise
        they have turns, if there is room for the largest packet.
    in_hardware : bool
        Whether there is such a switch in hardware.
    most_iterations : int
        Passes of the allocation's stages in a cycle, as ``switch.iterations`` may ask for; hardware makes one.
    most_speed : int
        Flits that cross in the time of one on a link, as ``switch.speed`` may ask for, in multiples of the kind's.
    marks : bool
        Whether its outputs can mark packets for congestion control.
    """

    allocation: str
    crossbar: str
    vls_apart: bool = False
    queues: bool = False
    in_hardware: bool = False
    most_iterations: int = 1
    most_speed: int = 1
    marks: bool = False

    def allowed(self, most: int) -> str:
        """Return what a number must be that this form has up to ``most``, in words.

        Examples
        --------
        >>> SwitchForm("turns", "per_vl").allowed(1)
        '1 with allocation turns and crossbar per_vl'
        """
        numbers = f"1 to {most}" if most > 1 else "1"
        return f"{numbers} with allocation {self.allocation} and crossbar {self.crossbar}"


@dataclass(frozen=True, slots=True)
class SwitchKind:
    """What a kind of switch can do.

    Parameters
    ----------
    name : str
        As ``switch.kind`` of a study names it.
    technology : str
        In messages.
    block : str
        The block that is the switch in hardware.
    most_ports : int or None
        Ports of a golden switch; None if only memory limits them.
    by_channel : bool
        Whether packets carry a service channel (SC), which selects the VL at every output; otherwise they carry a VL
        and SL2VL tables select the next one.
    has_centre : bool
        Whether ports are grouped into MPorts, each with a central buffer.
    skips_vl15 : bool
        Whether data lanes from 15 on are VLs one number higher, as VL15 carries no data.
    most_vls : int
        Data lanes.
    levels : int
        Service levels.
    vl_bits : int
        Bits of a VL on a link in hardware.
    inner_flits : int
        Flits that cross the switch in a cycle, from one input.
    write_ports : int
        Packets that may enter an output buffer at the same time.
    link_maps : tuple of str
        Keys of a study's ``[link]`` that map levels or channels to VLs.
    credits : tuple of CreditScheme
        Those it can use; the first is the default.
    forms : tuple of SwitchForm
        Those it has; the first is the default.
    takes_captured : bool
        Whether the tables of a captured fabric are tables of this kind.
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
        """Names of the credit schemes of the switch in hardware; it has a parameter ``credit`` if there are several."""
        return tuple(each.name for each in self.credits if each.in_hardware)

    @property
    def hardware_forms(self) -> tuple[SwitchForm, ...]:
        """Those of the switch in hardware; it has parameters ``crossbar`` and ``allocation`` if there are several."""
        return tuple(each for each in self.forms if each.in_hardware)

    @property
    def hardware_speed(self) -> int:
        """Most ``most_speed`` of the switch in hardware; it has a parameter ``speed`` if that is above 1."""
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
        SwitchForm("turns", "flits"),
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
    forms=(SwitchForm("turns", "multiplexed", in_hardware=True),),
    takes_captured=False,
)

SWITCH_KINDS: Mapping[str, SwitchKind] = MappingProxyType({each.name: each for each in (INFINIBAND, OMNI_PATH)})
"""All switch kinds by name."""
