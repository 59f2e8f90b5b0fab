"""Random connection requests of the packet-size study (``docs/studies/packet_size.md``)."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vlane.documents.files import usable_folder, write_whole
from vlane.golden.engine.kernel import source_digest
from vlane.golden.topologies.routing import up_down
from vlane.golden.topologies.topology import irregular
from vlane.paths import build_dir
from vlane.planning import fill_in
from vlane.planning.admission import Admission
from vlane.sim_top.scenario.admitted import ConnectionPaths
from vlane.tables.sl2vl import SL_COUNT
from vlane.units import BLOCK_BYTES, HEADER_BYTES

BUDGET = 0.8
ORDERS = ("mixed", "descending", "ascending")
"""Orders of requests: at random with the levels of a share first, or level by level, from 9 down or from 0 up."""


@dataclass(frozen=True)
class Level:
    """Row of Table 1.

    Parameters
    ----------
    distance : int
        Largest distance between entries of a connection.
    least, most : int
        Range of a connection's mean bandwidth, in kb/s.
    share : float
        Largest fraction of every link for the level's connections.
    """

    distance: int
    least: int
    most: int
    share: float


_SMALL, _MIDDLE, _LARGE, _LEAST = (64, 1550), (1550, 64_000), (64_000, 255_000), (8, 64)
_PART = 0.1
LEVELS = (
    Level(2, *_SMALL, BUDGET),
    Level(4, *_SMALL, BUDGET),
    Level(8, *_SMALL, BUDGET),
    Level(16, *_SMALL, BUDGET),
    Level(32, *_SMALL, BUDGET),
    Level(32, *_MIDDLE, _PART),
    Level(64, *_LEAST, BUDGET),
    Level(64, *_SMALL, BUDGET),
    Level(64, *_MIDDLE, _PART),
    Level(64, *_LARGE, _PART),
)
DISTANCES = [level.distance for level in LEVELS]


@dataclass(frozen=True)
class Requests:
    """Parameters of the requests.

    Parameters
    ----------
    switches : int
        Number of switches, each with 8 ports and 4 hosts.
    network, seed : int
        Seeds of the cables and of the requests.
    packet_bytes : int
        Packet size with headers.
    gbps : float
        Data rate of a link.
    attempts : int
        Number of requests per level.
    order : str
        Order of the requests, of ``ORDERS``.
    header_bytes : int
        Overhead of every packet.
    """

    switches: int
    network: int
    seed: int
    packet_bytes: int
    gbps: float = 2.5
    attempts: int = 150_000
    order: str = "mixed"
    header_bytes: int = HEADER_BYTES


def connections_file(requests: Requests) -> Path:
    """Return the file of the admitted connections, in the format of ``[connections] file``.

    The file is created if it is missing or was made by other sources.
    """
    folder = usable_folder(build_dir("studies", "packet-size-connections"), option="build")
    words = (
        requests.switches,
        requests.network,
        requests.seed,
        requests.packet_bytes,
        requests.gbps,
        requests.attempts,
    )
    changed = [requests.order] * (requests.order != "mixed")
    changed += [f"overhead{requests.header_bytes}"] * (requests.header_bytes != HEADER_BYTES)
    file = folder / f"{'-'.join([*(f'{word:g}' for word in words), *changed])}.parquet"
    made_by, key = file.with_suffix(".made-by"), _made_by()
    if not (file.exists() and made_by.exists() and made_by.read_text(encoding="utf-8") == key):
        content = io.BytesIO()
        admitted(requests).write_parquet(content)
        made_by.unlink(missing_ok=True)
        write_whole(file, content.getvalue(), option="build")
        write_whole(made_by, key, option="build")
    return file


def _made_by() -> str:
    """Return a digest of the sources that determine admission."""
    digest = hashlib.sha256(source_digest().encode())
    for module in (*sorted(Path(fill_in.__file__).parent.glob("*.py")), Path(__file__)):
        digest.update(module.read_bytes())
    return digest.hexdigest()


def _order(requests: Requests, few: list[int], random: np.random.Generator) -> NDArray[np.int64]:
    """Return the level of every request in order."""
    levels = np.arange(len(LEVELS))
    match requests.order:
        case "ascending":
            return np.repeat(levels, requests.attempts)
        case "descending":
            return np.repeat(levels[::-1], requests.attempts)
    many = [sl for sl in range(len(LEVELS)) if sl not in few]
    return np.concatenate([random.permutation(np.repeat(some, requests.attempts)) for some in (few, many)])


def admitted(requests: Requests) -> pl.DataFrame:
    """Request all connections and return the admitted ones, in order.

    Columns: those of ``[connections] file``, and ``kbps``, the bandwidth of the payload.
    """
    topology = irregular(requests.switches, ports=8, hosts=4, seed=requests.network)
    routes = up_down(topology, tuple(range(SL_COUNT)))
    paths, ports, random = (
        ConnectionPaths(topology, routes),
        Admission(budget=BUDGET),
        np.random.default_rng([requests.seed, requests.network, requests.switches]),
    )
    hosts = len(topology.hosts)
    way = [[paths.of(source, to) for to in range(hosts)] for source in range(hosts)]
    of_level: dict[tuple[object, int], float] = {}
    flits, payload_bits = (
        -(-requests.packet_bytes // BLOCK_BYTES),
        8 * (requests.packet_bytes - requests.header_bytes),
    )
    rows: list[tuple[int, int, int, int, float]] = []
    few = [sl for sl, level in enumerate(LEVELS) if level.share < BUDGET]
    order = _order(requests, few, random)
    source, hop = random.integers(hosts, size=len(order)), random.integers(1, hosts, size=len(order))
    least, most = (np.array([getattr(level, name) for level in LEVELS])[order] for name in ("least", "most"))
    asked = np.stack([source, (source + hop) % hosts, order, random.integers(least, most + 1)], axis=1)
    for one, to, sl, kbps in asked.tolist():
        level, path = LEVELS[sl], way[one][to]
        interval = payload_bits / (1000 * kbps) * (requests.gbps * 1e9 / (8 * BLOCK_BYTES))
        load = flits / interval
        if sl in few and any(of_level.get((port, sl), 0.0) + load > level.share for port in path):
            continue
        if ports.ask(path, vl=sl, distance=level.distance, load=load) is None:
            continue
        for port in path if sl in few else ():
            of_level[port, sl] = of_level.get((port, sl), 0.0) + load
        rows.append((one, to, sl, kbps, interval))
    names = ("source", "destination", "sl", "kbps", "interval_cycles")
    table = pl.DataFrame(dict(zip(names, zip(*rows, strict=True), strict=True)))
    return table.with_columns(bytes=pl.lit(requests.packet_bytes))
