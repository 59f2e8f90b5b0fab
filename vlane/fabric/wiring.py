"""A fabric as arrays of numbered ports and lanes, for following millions of pairs at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.fabric.model import Fabric, Kind, Node, Port
from vlane.tables.lft import UNASSIGNED
from vlane.tables.sl2vl import SL_COUNT

Ints = NDArray[np.int64]

NOWHERE = -1
"""Far end of a port without a cable."""

_MOST_LANES = 15


class Wiring:
    """Numbers for nodes, ports and rows.

    Nodes are numbered in order of GUID, ports in order of node and port number: the order of ``Port``.

    Parameters
    ----------
    fabric : Fabric
        The fabric.

    Attributes
    ----------
    ports : array of int64, (nodes)
        External ports of each node.
    first : array of int64, (nodes + 1)
        Number of port 0 of each node; a further number ends the last node.
    node : array of int64, (ports)
        Node of each port.
    far : array of int64, (ports)
        The other end of each port's cable, or ``NOWHERE``.
    switch : array of int64, (nodes)
        Number of each node among the switches, or ``NOWHERE``.
    switches : int
        Number of switches.
    lanes : array of int64, (ports)
        Data lanes of each port.
    captured_rows : int
        Number of different SL2VL rows that were captured; rows with higher numbers are assumed.
    """

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self.nodes: list[Node] = [fabric.nodes[guid] for guid in sorted(fabric.nodes)]
        self._numbers = {node.guid: number for number, node in enumerate(self.nodes)}
        self.ports: Ints = np.array([node.ports for node in self.nodes], np.int64)
        self.first: Ints = np.concatenate([[0], np.cumsum(self.ports + 1)])
        self.node: Ints = np.repeat(np.arange(len(self.nodes)), self.ports + 1)
        self.far: Ints = np.full(len(self.node), NOWHERE, np.int64)
        for number, node in enumerate(self.nodes):
            for port, far in node.links.items():
                self.far[self.first[number] + port] = self.number(far)
        forwards = np.array([node.kind is Kind.SWITCH for node in self.nodes], bool)
        self.switch: Ints = np.where(forwards, np.cumsum(forwards) - 1, NOWHERE)
        self.switches = int(forwards.sum())
        self.lanes: Ints = np.full(len(self.node), fabric.data_vls, np.int64)
        for told, info in fabric.port_infos.items():
            self.lanes[self.number(told)] = info.vls
        self._place_rows(fabric)

    def number(self, port: Port) -> int:
        """Return the number of a port."""
        return int(self.first[self._numbers[port.guid]]) + port.number

    def port(self, number: int) -> Port:
        """Return the port with a number."""
        node = int(self.node[number])
        return Port(self.nodes[node].guid, number - int(self.first[node]))

    def _place_rows(self, fabric: Fabric) -> None:
        """Store all row numbers in one array, input by input; assumed rows, by lanes, follow the captured rows."""
        self._row_of_input: Ints = np.full(len(self.node), NOWHERE, np.int64)
        self._output: Ints = np.arange(len(self.node)) - self.first[self.node]
        parts, end = [np.zeros(0, np.int32)], 0
        for number, node in enumerate(self.nodes):
            table = fabric.sl2vl.table(node.guid)
            if table is not None:
                parts.append(table.reshape(-1))
                first = self.first[number]
                self._row_of_input[first : first + len(table)] = end + np.arange(len(table)) * len(table)
                end += table.size
        self._places = np.concatenate(parts)
        self._everywhere = bool((self._row_of_input >= 0).all())
        self.captured_rows = len(fabric.sl2vl.rows)
        assumed = [[sl % max(lanes, 1) for sl in range(SL_COUNT)] for lanes in range(_MOST_LANES + 1)]
        self._vls = np.array([*fabric.sl2vl.rows, *assumed], np.uint8).reshape(-1)

    def rows(self, source: Ints, to: Ints) -> Ints:
        """Return the number of the SL2VL row from an input port to an output port of the same node.

        Packets that an adapter sends come from port 0. Row numbers from ``captured_rows`` on are assumed rows.
        """
        start = self._row_of_input[source]
        if self._everywhere:
            number: Ints = self._places[start + self._output[to]].astype(np.int64)
        else:
            some = np.flatnonzero(start >= 0)
            number = np.full(len(start), NOWHERE, np.int64)
            number[some] = self._places[start[some] + self._output[to[some]]]
        missing = np.flatnonzero(number < 0)
        number[missing] = self.captured_rows + self.lanes[to[missing]]
        return number

    def vls(self, rows: Ints, sls: Ints) -> Ints:
        """Return the lane of each SL in a row; lane 15 drops the packet."""
        lanes: Ints = self._vls[rows * SL_COUNT + sls].astype(np.int64)
        return lanes

    def outputs(self, lids: Ints) -> NDArray[np.uint8]:
        """Return the output port of every switch to every LID; 255 where the switch has no entry."""
        table = np.full((self.switches, len(lids)), UNASSIGNED, np.uint8)
        for number in np.flatnonzero(self.switch >= 0).tolist():
            held = np.frombuffer(self._fabric.lfts.get(self.nodes[number].guid, b""), np.uint8)
            known = lids < len(held)
            table[self.switch[number], known] = held[lids[known]]
        return table
