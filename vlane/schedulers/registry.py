"""Registry of egress schedulers: properties of each scheduler for golden, hardware, benches and commands.

Golden, hardware, stimulus, proofs and cocotb bench of a scheduler are modules with its name, found by ``by_name.py`` of
their family. No other code names a scheduler (``tests/schedulers/test_registry.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vlane.egress import MAX_REQUESTERS
from vlane.parameters import Parameters
from vlane.schedulers import drr, dtable, rr, scfq, vlarb, wrr
from vlane.schedulers.writes import SchedulerTable, Write
from vlane.units import MAX_DATA_VLS, MAX_PACKET_BLOCKS

LINE_RATE = "line_rate"
"""Form that decides in every cycle at the clock of the link."""

DEFAULT = "rr"
"""Default scheduler of switches and studies."""

IB_ARBITER = "vlarb"
"""Scheduler whose tables a subnet manager programs, and captured fabrics contain."""

_Pairs = list[list[int]]
_VL_ENTRIES = (
    f"up to {vlarb.MAX_ENTRIES} pairs [VL, weight in blocks of 64 bytes, 0 to {vlarb.MAX_WEIGHT}], served in this order"
)


@dataclass(frozen=True, slots=True)
class Section:
    """Section of a table file for a scheduler, with the scheduler's name.

    Parameters
    ----------
    table : callable
        Constructor of the table from the section's keys; it checks them.
    keys : mapping of str to (type, default)
        Keys; a required key has default ``...``.
    about : mapping of str to str
        Description of each key, for the reference.
    gives : str
        Object that the table gives to each served VL, as in "a table that gives ... to VL 3".
    """

    table: Callable[..., SchedulerTable]
    keys: Mapping[str, tuple[Any, Any]]
    about: Mapping[str, str]
    gives: str


@dataclass(frozen=True, slots=True)
class Scheduler:
    """Egress scheduler.

    Parameters
    ----------
    name : str
        Name in files, commands and modules.
    title : str
        Title for readers.
    parameters : type
        Class of the parameters.
    section : Section or None
        Section of a table file; ``None`` if only the map is programmable.
    weight_write : callable or None
        Function in the compiler's subset: number of the write, lane, weight and smallest weight of all lanes to the
        write that gives the lane its weight; select -1 if the weight is too large. ``None`` without weights.
    swaps : bool
        Whether the table is written to a shadow bank that a swap makes active.
    name_field : str
        Field of the program port with an entry's requester or VL.
    patience : int
        Largest number of decisions without a grant to a waiting lane with credits before the lane counts as never
        served; new tags where tags are made one per cycle.
    has_few_states : bool
        Whether golden's states are few enough to be listed for a window of sampling points.
    in_switch : mapping
        Parameters of a switch's instances, except lanes, entries and form.
    full_size, mutated : mapping
        Parameters of the largest instance, and of the instance for mutants.
    synthesised : tuple of mapping
        Parameters of the instances whose area is measured; the netlist of the last one is simulated.
    """

    name: str
    title: str
    parameters: type[Parameters]
    section: Section | None
    weight_write: Callable[[int, int, int, int], Write] | None = None
    swaps: bool = False
    name_field: str = "requester"
    patience: int = 0
    has_few_states: bool = True
    in_switch: Mapping[str, Any] = field(default_factory=dict)
    full_size: Mapping[str, Any] = field(default_factory=dict)
    mutated: Mapping[str, Any] = field(default_factory=dict)
    synthesised: tuple[Mapping[str, Any], ...] = ({},)

    @property
    def forms(self) -> tuple[str, ...]:
        """Forms of the scheduler, the default first, empty for a scheduler with one form."""
        return self.parameters.words_of("form")

    @property
    def maps(self) -> bool:
        """Whether lanes can be mapped to requesters."""
        return "requesters" in self.parameters.defaults()

    @property
    def data_vls(self) -> tuple[int, int]:
        """Smallest and largest number of data lanes of a port without VL15."""
        return self.parameters.bounds_of("data_vls")

    @property
    def has_line_rate(self) -> bool:
        """Whether one of the forms is the line-rate form."""
        return LINE_RATE in self.forms

    @property
    def has_entries(self) -> bool:
        """Whether the table length is a parameter."""
        return "entries" in self.parameters.defaults()

    def switch_parameters(self, entries: int, *, line_rate: bool) -> dict[str, Any]:
        """Return the parameters of a switch's instances except their lanes: a requester per lane, no VL15.

        Parameters
        ----------
        entries : int
            Table length, if it is a parameter.
        line_rate : bool
            Whether the form is the line-rate form.
        """
        form = {"form": LINE_RATE if line_rate else self.forms[0]} if self.forms else {}
        return {**self.in_switch, **form, **({"entries": entries} if self.has_entries else {})}


_FULL_SIZE = {"data_vls": 15, "requesters": 16, "vl15": True}
_MUTATED = {"data_vls": 4, "requesters": 3, "vl15": True}
_DEFICIT = {"requesters": 0, "keep_on_stall": False, "mtu_blocks": MAX_PACKET_BLOCKS}
_TURNS = dtable.MAX_ENTRIES * MAX_PACKET_BLOCKS
"""Turns after which a requester with a weight of one block can send any packet."""

SCHEDULERS = {
    each.name: each
    for each in (
        Scheduler(
            name=IB_ARBITER,
            title="VL arbiter",
            parameters=vlarb.VLArbParameters,
            section=Section(
                vlarb.VLArbTable,
                {"high": (_Pairs, []), "low": (_Pairs, []), "limit_of_high_priority": (int, ...)},
                {
                    "high": f"High list: {_VL_ENTRIES}.",
                    "low": f"Low list: {_VL_ENTRIES}.",
                    "limit_of_high_priority": "Amount that the high list may send before one low packet: 0 for one"
                    " packet, 1 to 254 for this multiple of 4096 bytes, 255 for no limit.",
                },
                "a weight in one of its lists",
            ),
            weight_write=vlarb.weight_write,
            swaps=True,
            name_field="vl",
            in_switch={"parity": False},
            full_size={"data_vls": MAX_DATA_VLS, "entries": vlarb.MAX_ENTRIES, "vl15": True},
            mutated={"data_vls": 5, "entries": 8, "vl15": True},
            synthesised=({"data_vls": 15, "entries": 64, "form": LINE_RATE}, {}),
        ),
        Scheduler(
            name="dtable",
            title="Deficit Table",
            parameters=dtable.DTableParameters,
            section=Section(
                dtable.DTable,
                {"entries": (_Pairs, ...)},
                {
                    "entries": f"Up to {dtable.MAX_ENTRIES} pairs [requester, weight in blocks of 64 bytes,"
                    f" 0 to {dtable.MAX_WEIGHT}], served in this order."
                },
                "a weight",
            ),
            weight_write=dtable.weight_write,
            swaps=True,
            patience=_TURNS,
            in_switch={**_DEFICIT, "parity": False},
            full_size={**_FULL_SIZE, "entries": 64},
            mutated={**_MUTATED, "entries": 8, "keep_on_stall": True},
            synthesised=({"data_vls": 16, "entries": 64, "vl15": False, "form": LINE_RATE}, {"entries": 32}),
        ),
        Scheduler(
            name="drr",
            title="Deficit round robin",
            parameters=drr.DRRParameters,
            section=Section(
                drr.DRRQuanta,
                {"quantum": (list[int], ...)},
                {"quantum": f"Blocks of each requester per round, 0 to {drr.MAX_QUANTUM}; 0: never served."},
                "a quantum",
            ),
            weight_write=drr.weight_write,
            patience=_TURNS,
            in_switch=_DEFICIT,
            full_size=_FULL_SIZE,
            mutated=_MUTATED,
        ),
        Scheduler(
            name="scfq",
            title="Self-clocked fair queueing",
            parameters=scfq.SCFQParameters,
            section=Section(
                scfq.SCFQWeights,
                {"weight": (list[int], ...)},
                {"weight": f"Weight of each requester, 0 to {scfq.MAX_SCFQ_WEIGHT}; 0: never served."},
                "a weight",
            ),
            weight_write=scfq.weight_write,
            patience=MAX_REQUESTERS,
            has_few_states=False,
            in_switch={"requesters": 0, "tag_bits": 16, "reciprocal_bits": 8, "units": "per_requester"},
            full_size=_FULL_SIZE,
            mutated=_MUTATED,
        ),
        Scheduler(
            name=DEFAULT,
            title="Round robin",
            parameters=rr.RRParameters,
            section=None,
            in_switch={"requesters": 0},
            full_size=_FULL_SIZE,
            mutated=_MUTATED,
        ),
        Scheduler(
            name="wrr",
            title="Weighted round robin",
            parameters=wrr.WRRParameters,
            section=Section(
                wrr.WRRWeights,
                {"weight": (list[int], ...)},
                {"weight": f"Packets of each requester per turn, 0 to {wrr.MAX_WRR_WEIGHT}; 0: never served."},
                "a weight",
            ),
            weight_write=wrr.weight_write,
            in_switch={"requesters": 0},
            full_size=_FULL_SIZE,
            mutated=_MUTATED,
        ),
    )
}
"""All schedulers by name."""
