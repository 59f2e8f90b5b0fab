"""Single pairs of adapters, followed hop by hop along the forwarding tables.

In contrast, ``trace_pairs`` follows all pairs of large fabrics together and returns the traffic of every link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlane.fabric.model import Fabric, Kind
from vlane.fabric.path_table import NO_SL
from vlane.fabric.wiring import NOWHERE, Ints, Wiring
from vlane.tables.sl2vl import VL_DROP


@dataclass(frozen=True, slots=True)
class PairPaths:
    """Pairs of adapters and the outputs of their packets.

    Parameters
    ----------
    wiring : Wiring
        The fabric's ports, numbered.
    source, target : array of int64, (pairs)
        Source port and target port.
    slid, dlid : array of int64, (pairs)
        Source LID and destination LID.
    sl : array of int64, (pairs)
        SL of the path record, or 0 without a record.
    switches : array of int64, (pairs)
        Number of switches passed, including switches before a loss.
    arrives : array of bool, (pairs)
        Whether the packets reach their destination.
    hops : tuple of (array, array, array)
        Pairs, output ports and VLs of each hop.
    """

    wiring: Wiring
    source: Ints
    target: Ints
    slid: Ints
    dlid: Ints
    sl: Ints
    switches: Ints
    arrives: NDArray[np.bool_]
    hops: tuple[tuple[Ints, Ints, Ints], ...]


def follow_pairs(fabric: Fabric, slids: list[int] | None = None, dlids: list[int] | None = None) -> PairPaths:
    """Follow every pair of adapter LIDs, by default all. Two LIDs of one port do not form a pair.

    A path longer than the number of switches is a forwarding loop, so its packets do not arrive.
    """
    wiring = Wiring(fabric)
    owners = sorted(
        (lid, port) for lid, port in fabric.port_of_lid().items() if fabric.nodes[port.guid].kind is not Kind.SWITCH
    )
    sources = [(lid, wiring.number(port)) for lid, port in owners if lid == fabric.nodes[port.guid].lids[port.number]]
    targets = [(lid, wiring.number(port)) for lid, port in owners]
    sources = [each for each in sources if slids is None or each[0] in slids]
    targets = [each for each in targets if dlids is None or each[0] in dlids]
    to: Ints = np.array([lid for lid, _ in targets], np.int64)
    at: Ints = np.array([port for _, port in targets], np.int64)
    slid: Ints = np.repeat(np.array([lid for lid, _ in sources], np.int64), len(to))
    source: Ints = np.repeat(np.array([port for _, port in sources], np.int64), len(to))
    number: Ints = np.tile(np.arange(len(to)), len(sources))
    is_pair = source != at[number]
    slid, source, number = slid[is_pair], source[is_pair], number[is_pair]
    sl = np.zeros(len(slid), np.int64)
    for each, _ in sources if fabric.path_sls else ():
        of = slid == each
        known = fabric.path_sls.of(each, to[number[of]])
        sl[of] = np.where(known == NO_SL, 0, known)
    hops, switches, arrives = _hops(wiring, source, at[number], wiring.outputs(to), number, sl)
    return PairPaths(wiring, source, at[number], slid, to[number], sl, switches, arrives, tuple(hops))


def _hops(
    wiring: Wiring, source: Ints, target: Ints, outputs: NDArray[np.uint8], number: Ints, sl: Ints
) -> tuple[list[tuple[Ints, Ints, Ints]], Ints, NDArray[np.bool_]]:
    switches, arrives = np.zeros(len(source), np.int64), np.zeros(len(source), bool)
    hops: list[tuple[Ints, Ints, Ints]] = []
    pairs: Ints = np.arange(len(source))
    entered, out = wiring.first[wiring.node[source]], source
    while len(pairs) and len(hops) <= wiring.switches + 1:
        vl = wiring.vls(wiring.rows(entered, out), sl[pairs])
        goes = vl != VL_DROP
        pairs, out, vl = pairs[goes], out[goes], vl[goes]
        hops.append((pairs, out, vl))
        entered = wiring.far[out]
        arrives[pairs[entered == target[pairs]]] = True
        inside = (entered != NOWHERE) & (wiring.switch[wiring.node[entered]] != NOWHERE)
        pairs, entered = pairs[inside], entered[inside]
        switches[pairs] += 1
        node = wiring.node[entered]
        port = outputs[wiring.switch[node], number[pairs]].astype(np.int64)
        known = port <= wiring.ports[node]
        pairs, entered = pairs[known], entered[known]
        out = wiring.first[node[known]] + port[known]
    return hops, switches, arrives
