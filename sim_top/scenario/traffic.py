"""A study's traffic: parameters of the golden network's sources from sections and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError
from vlane.golden.topologies.patterns import PERMUTATIONS, permutation
from vlane.golden.topologies.topology import Topology
from vlane.golden.traffic.classes import NEVER, PATH_SL, PairWeights, PluggedSource, Replies, TrafficClass
from vlane.plugins import found
from vlane.sim_top.scenario.plugged_world import plugged_destinations
from vlane.study.courses import Course, lengths, read_course
from vlane.study.sizes import MAX_MESSAGE_BYTES, Distribution, sizes_of
from vlane.study.study import Study
from vlane.study.traffic import FILE_PATTERNS, Traffic, class_loads
from vlane.study.traffic_pairs import read_connections, read_matrix
from vlane.units import HEADER_BYTES

_READERS: dict[str, Callable[[Path, int], NDArray[np.float64]]] = dict(
    zip(FILE_PATTERNS, (read_connections, read_matrix), strict=True)
)


def check_traffic(study: Study, hosts: int, *, has_path_sls: bool) -> None:
    """Reject traffic with hosts that the network lacks, or with path SLs where paths have none.

    Raises
    ------
    InputError
        If a class is rejected; names the class.
    """
    for host in study.measure.apart:
        if host >= hosts:
            raise InputError("measure.apart", f"0 to {hosts - 1}", host)
    for number, each in enumerate(study.traffic):
        for field, sl in (("sl", each.sl), ("reply.sl", each.reply_sl)):
            if sl == "path" and not has_path_sls:
                problem = ": path applies only to a captured fabric or with [voqsw]; give an SL, 0 to 15"
                raise InputError(f"traffic.{number}.{field}", "0 to 15", sl, problem=problem)
        for field in ("hosts", "hot_hosts"):
            for host in getattr(each, field) or ():
                if host >= hosts:
                    raise InputError(f"traffic.{number}.{field}", f"0 to {hosts - 1}", host)


def read_pairs(study: Study, base: Path, hosts: int) -> dict[int, PairWeights]:
    """Return the host pairs from the files of classes, by class number.

    Raises
    ------
    InputError
        If a file is rejected (see ``vlane.study.traffic_pairs``).
    """
    pairs = {}
    for number, each in enumerate(study.traffic):
        if each.file is not None:
            rows = _READERS[each.pattern](base / each.file, hosts)
            pairs[number] = PairWeights(rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), rows[:, 2])
    return pairs


def read_all_sizes(study: Study, base: Path) -> list[Distribution]:
    """Return the sizes of packets or messages of each class.

    Raises
    ------
    InputError
        If a file is rejected (see ``vlane.study.sizes``).
    """
    return [sizes_of(each.sizes, base, each.largest_size) for each in study.traffic]


def read_courses(study: Study, base: Path) -> dict[int, Course]:
    """Return the factors of the load over time from the files of classes, by class number.

    Raises
    ------
    InputError
        If a file is rejected (see ``vlane.study.courses``).
    """
    return {number: read_course(base / each.rates) for number, each in enumerate(study.traffic) if each.rates}


def read_replies(study: Study, base: Path) -> dict[int, Replies]:
    """Return the replies to classes, by class number.

    Raises
    ------
    InputError
        If a file is rejected (see ``vlane.study.sizes``).
    """
    return {
        number: Replies(
            _sl(each.reply_sl), sizes_of(each.reply.message_bytes, base, MAX_MESSAGE_BYTES), each.reply.delay_cycles
        )
        for number, each in enumerate(study.traffic)
        if each.reply is not None
    }


def largest_packet(each: Traffic, sizes: Distribution, mtu: int) -> int:
    """Return the size of the largest packet of a class in bytes."""
    return _largest_part(sizes, mtu) if each.in_messages else sizes.largest


def largest_reply(replies: Replies, mtu: int) -> int:
    """Return the size of the largest packet of replies in bytes."""
    return _largest_part(replies.sizes, mtu)


def _largest_part(sizes: Distribution, mtu: int) -> int:
    return min(sizes.largest, mtu) + HEADER_BYTES


def _sl(sl: int | Literal["path"]) -> int:
    return PATH_SL if sl == "path" else sl


def traffic_classes(
    study: Study,
    topology: Topology,
    pairs: Mapping[int, PairWeights],
    sizes: Sequence[Distribution],
    courses: Mapping[int, Course],
    replies: Mapping[int, Replies],
    load: float,
) -> list[TrafficClass]:
    """Return the traffic classes of a run at a load.

    Raises
    ------
    InputError
        If a pattern does not fit the network, or the load does not fit the classes.
    """
    loads = class_loads(study.traffic, load)
    return [
        TrafficClass(
            sl=_sl(each.sl),
            load=loads[number],
            least_bytes=int(sizes[number].least[0]),
            most_bytes=int(sizes[number].most[0]),
            sizes=sizes[number] if len(sizes[number].weight) > 1 else None,
            mtu=study.nic.mtu_bytes if each.in_messages else 0,
            pattern=pairs.get(number) or _pattern(each.pattern, topology),
            hot_share=each.hot_share,
            hot_hosts=tuple(each.hot_hosts),
            burst=each.burst,
            burst_to_one=each.burst_to == "one",
            regular=each.regular,
            senders=None if each.hosts is None else tuple(each.hosts),
            active=tuple((first, end) for first, end in each.windows) or ((0, NEVER),),
            on=_lengths(each.on_cycles, each.pareto_shape),
            off=_lengths(each.off_cycles, each.pareto_shape),
            course=courses.get(number, ()),
            replies=replies.get(number),
            window=each.window or 0,
            think=each.think_cycles,
            queue_packets=each.queue_packets or 0,
            source=PluggedSource(each.plugin, tuple(each.source_values)) if each.plugin else None,
        )
        for number, each in enumerate(study.traffic)
    ]


def _lengths(mean: float | None, shape: float | None) -> Distribution | None:
    return None if mean is None else lengths(mean, shape)


def _pattern(name: str, topology: Topology) -> str | tuple[int, ...]:
    """Return the destination of every host, or the name of a pattern that draws destinations."""
    plugin = found("pattern", name)
    if plugin is not None:
        return plugged_destinations(plugin, topology)
    return permutation(name, topology) if name in PERMUTATIONS else name
