"""A study's buffers and cables: from its sections to the sizes that the golden network is given."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vlane.errors import InputError
from vlane.golden.network.buffers import Buffers
from vlane.golden.switches.output_ports import FULL_PACE
from vlane.golden.topologies.cabling import CableForm
from vlane.golden.topologies.topology import End, Topology
from vlane.study.study import Study


def buffers_of(study: Study, largest: tuple[int, ...]) -> tuple[Buffers, Buffers | None, Buffers | None]:
    """Return the sizes of all buffers, and of those of the NICs and of the central buffers if they are others.

    Parameters
    ----------
    study : Study
        The file.
    largest : tuple of int
        Blocks of the largest packet of each lane.

    Raises
    ------
    InputError
        If they do not fit together.
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
    """What a study says of one kind of buffer, by the keys that begin with ``prefix``."""

    prefix: str
    blocks: int | None
    minimum: int | list[int] | None
    maximum: int | list[int] | None

    def before(self, other: _Given) -> _Given:
        """Return the same with what is left out as of another kind."""
        minimum = other.minimum if self.minimum is None else self.minimum
        maximum = other.maximum if self.maximum is None else self.maximum
        return _Given(self.prefix, self.blocks or other.blocks, minimum, maximum)

    def sizes(self, study: Study, largest: tuple[int, ...]) -> Buffers:
        """Return the sizes; what a lane has is as the study says, else as its largest packet and the rest need."""
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
            raise InputError(f"{self.prefix}{error.field}", error.must, error.got) from None


def cables_of(study: Study, topology: Topology) -> dict[End, CableForm]:
    """Return the cables that are not as the others, by the (switch, port) of an end.

    Raises
    ------
    InputError
        If one is named twice, or is not there.
    """
    far, hosts, made = topology.far_ends(), set(topology.hosts), {}
    named: set[End] = set()
    for number, each in enumerate(study.cable):
        form = CableForm(each.flight_cycles or study.link.flight_cycles, round(FULL_PACE / each.relative_rate))
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
                raise InputError(f"cable.{number}.port", f"a cabled port of switch {switch}, from 1", port + 1)
            if (switch, port) in named:
                field = f"cable.{number}.{'hosts' if each.hosts else 'port'}"
                raise InputError(field, "a cable that none before it names", f"switch {switch} port {port + 1}")
            named |= {(switch, port), far.get((switch, port), (switch, port))}
            made[switch, port] = form
    return made


def _per_lane(field: str, given: int | list[int] | None, lanes: int, default: tuple[int, ...]) -> tuple[int, ...]:
    if given is None:
        return default
    if isinstance(given, int):
        return (given,) * lanes
    if len(given) != lanes:
        raise InputError(field, f"one number, or {lanes}, one for each VL", f"{len(given)} numbers")
    return tuple(given)
