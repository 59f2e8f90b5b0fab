"""A study's buffers and cables: sizes and forms for the golden network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from vlane.errors import InputError
from vlane.golden.network.buffers import Buffers
from vlane.golden.switches.output_ports import FULL_PACE
from vlane.golden.topologies.cabling import CableForm
from vlane.golden.topologies.topology import End, Topology
from vlane.rates import NAMED_RATES
from vlane.study.study import Study

_MOST_PACE = 64 * FULL_PACE
"""Pace of the slowest cable: 1/64 of the rate of the links."""


def without_cable(field: str, switch: int | None, port: int) -> InputError:
    """Return the error of a key that names a port, counted from 1, to which no cable leads."""
    return InputError(field, f"a port of switch {switch} with a cable (ports count from 1)", port)


def buffers_of(study: Study, largest: tuple[int, ...]) -> tuple[Buffers, Buffers | None, Buffers | None]:
    """Return the buffer sizes of switch ports, NICs and central buffers.

    NICs have ``None`` if a study gives them no sizes of their own; central buffers, if the switch has none.

    Parameters
    ----------
    study : Study
        Study.
    largest : tuple of int
        Size in blocks of the largest packet of each lane.

    Raises
    ------
    InputError
        If sizes are inconsistent.
    """
    room, switch, nic, central = study.buffers, study.switch, None, None
    whole = _Given("buffers.", room.blocks, room.minimum_blocks, room.maximum_blocks)
    if {"nic_blocks", "nic_minimum_blocks", "nic_maximum_blocks"} & room.model_fields_set:
        own = _Given("buffers.nic_", room.nic_blocks, room.nic_minimum_blocks, room.nic_maximum_blocks)
        nic = own.before(whole).sizes(study, largest)
    if switch.record.has_centre:
        own = _Given(
            "switch.central_", switch.central_blocks, switch.central_minimum_blocks, switch.central_maximum_blocks
        )
        central = own.before(replace(whole, blocks=2 * room.blocks)).sizes(study, largest)
    return whole.sizes(study, largest), nic, central


@dataclass(frozen=True)
class _Given:
    """A study's keys for one kind of buffer. The keys begin with ``prefix``."""

    prefix: str
    blocks: int | None
    minimum: int | list[int] | None
    maximum: int | list[int] | None

    def before(self, other: _Given) -> _Given:
        """Return these keys, with omitted keys taken from another kind."""
        minimum = other.minimum if self.minimum is None else self.minimum
        maximum = other.maximum if self.maximum is None else self.maximum
        return _Given(self.prefix, self.blocks or other.blocks, minimum, maximum)

    def sizes(self, study: Study, largest: tuple[int, ...]) -> Buffers:
        """Return the sizes: as given, otherwise derived from each lane's largest packet and the remaining blocks."""
        lanes, blocks, spare = len(largest), self.blocks or 0, 0
        parts = tuple(max(blocks // lanes, each) for each in largest)
        default = parts if study.in_parts else largest
        least = _per_lane(f"{self.prefix}minimum_blocks", self.minimum, lanes, default)
        if not study.in_parts:
            spare = max(0, blocks - sum(least))
        most = _per_lane(f"{self.prefix}maximum_blocks", self.maximum, lanes, tuple(spare + each for each in least))
        try:
            return Buffers(blocks, least, most, largest)
        except InputError as error:
            raise error.of(f"{self.prefix}{error.field}") from None


def fastest_captured(rates: Mapping[End, str]) -> str:
    """Return the name of the highest captured rate, empty if no rate is known."""
    known = {name for name in rates.values() if name in NAMED_RATES}
    return max(known, key=lambda name: NAMED_RATES[name].data_gbps, default="")


def captured_paces(rates: Mapping[End, str]) -> dict[End, int]:
    """Return the paces of captured cables slower than the fastest one, without cables of unknown rate."""
    fastest = fastest_captured(rates)
    paces = {
        end: round(FULL_PACE * NAMED_RATES[fastest].data_gbps / NAMED_RATES[name].data_gbps)
        for end, name in rates.items()
        if name in NAMED_RATES
    }
    return {end: min(pace, _MOST_PACE) for end, pace in paces.items() if pace != FULL_PACE}


def cables_of(study: Study, topology: Topology, rates: Mapping[End, str]) -> dict[End, CableForm]:
    """Return the cables that differ from the others, by the (switch, port) of an end.

    Parameters
    ----------
    study : Study
        The file. The rate of a ``[[cable]]`` replaces a captured one.
    topology : Topology
        The network.
    rates : mapping of (int, int) to str
        Captured rates of cables, by the (switch, port) of an end.

    Raises
    ------
    InputError
        If a cable is named twice, or does not exist.
    """
    far, hosts = topology.far_ends(), set(topology.hosts)
    paces = captured_paces(rates)
    made = {end: CableForm(study.link.flight_cycles, pace) for end, pace in paces.items()}
    named: set[End] = set()
    for number, each in enumerate(study.cable):
        flight, is_given = each.flight_cycles or study.link.flight_cycles, "relative_rate" in each.model_fields_set
        for host in each.hosts or ():
            if host >= len(topology.hosts):
                raise InputError(f"cable.{number}.hosts", f"0 to {len(topology.hosts) - 1}", host)
        ends = [topology.hosts[host] for host in each.hosts or ()]
        if each.switch is not None and each.port is not None:
            if each.switch >= topology.switches:
                raise InputError(f"cable.{number}.switch", f"0 to {topology.switches - 1}", each.switch)
            ends = [(each.switch, each.port - 1)]
        for switch, port in ends:
            if (switch, port) not in far and (switch, port) not in hosts:
                raise without_cable(f"cable.{number}.port", switch, port + 1)
            if (switch, port) in named:
                field = f"cable.{number}.{'hosts' if each.hosts else 'port'}"
                got = f"switch {switch} port {port + 1}"
                problem = f": the cable at {got} already has a [[cable]] section"
                raise InputError(field, "a new cable", got, problem=problem)
            named |= {(switch, port), far.get((switch, port), (switch, port))}
            end = far[switch, port] if far.get((switch, port)) in rates else (switch, port)
            made[end] = CableForm(
                flight, round(FULL_PACE / each.relative_rate) if is_given else paces.get(end, FULL_PACE)
            )
    return made


def _per_lane(field: str, given: int | list[int] | None, lanes: int, default: tuple[int, ...]) -> tuple[int, ...]:
    if given is None:
        return default
    if isinstance(given, int):
        return (given,) * lanes
    if len(given) != lanes:
        raise InputError(field, f"one number or {lanes} (one per VL)", f"{len(given)} numbers")
    return tuple(given)
