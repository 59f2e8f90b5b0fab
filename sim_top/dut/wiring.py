"""Port map checked against both sides, and conversion of rows in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from vlane.dut_map import DutMap, InputWire, OutputWire
from vlane.errors import closest
from vlane.sim_top.blocks import Block
from vlane.sim_top.dut.lanes import Lanes, LaneWires
from vlane.sim_top.dut.ports import BlockPort, PortRow, bits_of_rows, block_rows, rows_of_bits, shown_bits
from vlane.tb.machinery.native.rows import Port, Words

RESET = "rst"
"""Reset of the block, active high and synchronous."""
DECISION = ("grant", "vl", "from_list", "blocks")
"""Outputs of a scheduler that are 0 without a grant."""
ZERO = -1
"""Index of a constant 0 bit after the last bit of a row."""


class Wiring:
    """Connections between a block's ports and those of a foreign design.

    Parameters
    ----------
    block : Block
        The block.
    parameters : mapping
        Parameters of the block's instance.
    given : DutMap
        Port map.
    top : str
        Foreign module.
    ports : tuple of Port
        Ports of the foreign module.

    Attributes
    ----------
    inputs, outputs : PortRow
        Ports of the block.
    dut_inputs, dut_outputs, dut_ports : PortRow, PortRow, tuple of Port
        Ports of the design as rows, and as a tuple; without the clock and without outputs that the map omits.
    compared, left_out, decides : list of str, list of str, bool
        Compared outputs; outputs that the design lacks; whether the block grants.
    absent : dict of str to int
        Constant values of inputs that the design lacks.
    lanes : Lanes
        Lanes of the port; none if the block does not grant.
    source, inverted : array
        For each bit of a row of the design's inputs: the index of the block's bit (``ZERO`` if none), and whether it is
        inverted.
    expected_source, expected_inverted, cared : array
        The same for the design's outputs, and whether the bit is compared.
    conditions : list of (array, array, int)
        Indices of the design's output bits that are compared only while bits of the block's outputs have a given value.
    too_narrow : list of (str, array)
        Indices of the block's output bits that have no bit in the design, by output.
    lane : LaneWires or None
        Output that names the granted lane.

    Raises
    ------
    InputError
        If the map does not fit; names the first offending key.
    """

    def __init__(
        self, block: Block, parameters: Mapping[str, Any], given: DutMap, top: str, ports: tuple[Port, ...]
    ) -> None:
        self.map, self.top = given, top
        self.inputs, self.outputs = block_rows(block, parameters)
        self.decides = "ready" in self.inputs.ports and set(DECISION) <= set(self.outputs.ports)
        self._theirs = {port.name: port for port in ports}
        self.lanes = Lanes(parameters["data_vls"] if self.decides else 0, vl15=self.decides and parameters["vl15"])
        self._check_names()
        used = {name for wire in given.outputs.values() for name in wire.names}
        clock = given.clock.port
        self.dut_ports = tuple(p for p in ports if (p.is_input and p.name != clock) or p.name in used)
        self.dut_inputs = PortRow(self.dut_ports, inputs=True)
        self.dut_outputs = PortRow(self.dut_ports, inputs=False)
        self._taken: dict[str, str] = {clock: "clock"}
        self.source = np.full(64 * self.dut_inputs.words, ZERO, np.int64)
        self.inverted = np.zeros(64 * self.dut_inputs.words, np.uint8)
        self._wire_inputs()
        self.expected_source = np.full(64 * self.dut_outputs.words, ZERO, np.int64)
        self.expected_inverted = np.zeros(64 * self.dut_outputs.words, np.uint8)
        self.cared = np.zeros(64 * self.dut_outputs.words, np.uint8)
        self.conditions: list[tuple[NDArray[np.int64], NDArray[np.int64], int]] = []
        self.too_narrow: list[tuple[str, NDArray[np.int64]]] = []
        self.lane = self._wire_outputs()
        told = set(given.outputs)
        if self.lane is not None and self.lane.onehot and given.outputs["vl"].when is None:
            told.add("grant")
        self.compared = [name for name in self.outputs.ports if name in told]
        self.left_out = [name for name in self.outputs.ports if name not in told]

    # Checks

    def _check_names(self) -> None:
        """Reject keys that are not ports of the block, and inputs of the block that the map omits."""
        given, refusal = self.map, self.map.refusal
        wired = [name for name in self.inputs.ports if name != RESET]
        for section, names, known in (
            ("inputs", given.inputs, wired),
            ("absent", given.absent, wired),
            ("outputs", given.outputs, list(self.outputs.ports)),
        ):
            for name in names:
                if name not in known:
                    must, problem = f"a known key ({', '.join(known)})", f": unknown port (known: {', '.join(known)})"
                    raise refusal((section, name), must, "unknown", problem=problem, meant=closest(name, known))
        for name in wired:
            if name in given.inputs and name in given.absent:
                raise given.misplaced(("absent", name), "together with an entry in [inputs]")
            if name not in given.inputs and name not in given.absent:
                problem = "is missing: connect the input, or give its constant value in [absent]"
                raise refusal(("inputs", name), "given", "missing", problem=problem)
        if not self.decides:
            for key, usual in (("every", 1), ("ready", "either"), ("between", "hold")):
                if getattr(given.timing, key) != usual:
                    raise given.misplaced(("timing", key), "for a block without grants")
        for name, wire in given.outputs.items():
            for key in ("when", "unless"):
                told = getattr(wire, key)
                if told is not None and told not in self.outputs.ports:
                    must = f"an output of the block ({', '.join(self.outputs.ports)})"
                    raise refusal(("outputs", name, key), must, told, meant=closest(told, self.outputs.ports))
            if wire.encoding != "number" and not (self.decides and name == "vl"):
                raise refusal(("outputs", name, "encoding"), "number except for vl of a scheduler", wire.encoding)

    def _port(self, path: tuple[str | int, ...], name: str, *, is_input: bool) -> Port:
        """Return a port of the design."""
        known = [port.name for port in self._theirs.values() if port.is_input == is_input]
        found = self._theirs.get(name)
        kind = "input" if is_input else "output"
        if found is None or found.is_input != is_input:
            must = f"an {kind} of {self.top} ({', '.join(known)})"
            raise self.map.refusal(path, must, name, meant=closest(name, known))
        return found

    def _take(self, path: tuple[str | int, ...], name: str) -> None:
        """Mark a port of the design as connected, and reject a second connection."""
        if name in self._taken:
            problem = f": port {name} is already connected by {self._taken[name]}"
            raise self.map.refusal(path, "an unconnected port", name, problem=problem)
        self._taken[name] = ".".join(map(str, path))

    def _places(
        self, section: str, ours: BlockPort, wire: InputWire, row: PortRow
    ) -> tuple[list[tuple[int, int]], list[int]]:
        """Return (design's bit, block's bit or ``ZERO``) pairs, and the block's bits that the design lacks."""
        elements = 1 if wire.resize and not ours.is_array and wire.ports is None else ours.elements
        bits = ours.bits // elements
        if elements == 1 and ours.bits > 1 and wire.order == "high_first":
            raise self.map.misplaced((section, ours.name, "order"), "with resize")
        their = self._elements(section, ours, wire, row, elements=elements, bits=bits)
        if wire.order == "high_first":
            their = their[::-1]
        pairs, without = [], []
        for element, (first, width) in enumerate(their):
            start = ours.first + element * bits
            pairs += [(first + bit, start + bit if bit < bits else ZERO) for bit in range(width)]
            without += [start + bit for bit in range(width, bits)]
        return pairs, without

    def _elements(
        self, section: str, ours: BlockPort, wire: InputWire, row: PortRow, *, elements: int, bits: int
    ) -> list[tuple[int, int]]:
        """Return the lowest bit and the width of each of the design's elements, in the order of the map."""
        is_input, key = section == "inputs", "port" if wire.ports is None else "ports"
        path = (section, ours.name, key)
        if wire.ports is not None and len(wire.ports) != elements:
            raise self.map.refusal(path, f"a list of {elements} ports", f"{len(wire.ports)} ports")
        count = elements if wire.ports is None else 1
        total = bits * count
        found = []
        for index, name in enumerate(wire.names):
            at = path if wire.ports is None else (*path, index)
            width = self._port(at, name, is_input=is_input).bits
            self._take(at, name)
            if width != total and not wire.resize:
                problem = f": port {name} has {shown_bits(width)}, not {total}; set resize = true to allow this"
                raise self.map.refusal(at, f"a port of {shown_bits(total)}", name, problem=problem)
            if width % count:
                problem = f": port {name} has {shown_bits(width)}, which do not divide into {count} equal elements"
                raise self.map.refusal(at, f"a port of {count} equal elements", name, problem=problem)
            first, each = row.ports[name].first, width // count
            found += [(first + element * each, each) for element in range(count)]
        return found

    def _wire_inputs(self) -> None:
        given, row = self.map, self.dut_inputs
        clock = self._port(("clock",), given.clock.port, is_input=True)
        if clock.bits != 1:
            problem = f": port {clock.name} has {shown_bits(clock.bits)}, not 1"
            raise given.refusal(("clock",), "a port of 1 bit", clock.name, problem=problem)
        if given.reset is not None:
            port = self._port(("reset", "port"), given.reset.port, is_input=True)
            self._take(("reset", "port"), port.name)
            if port.bits != 1:
                problem = f": port {port.name} has {shown_bits(port.bits)}, not 1"
                raise given.refusal(("reset", "port"), "a port of 1 bit", port.name, problem=problem)
            self._connect(row.ports[port.name].first, self.inputs.ports[RESET].first, given.reset.active == "low")
        self._resized: list[tuple[str, NDArray[np.int64]]] = []
        for name, wire in given.inputs.items():
            pairs, without = self._places("inputs", self.inputs.ports[name], wire, row)
            for their, our in pairs:
                self._connect(their, our, wire.active == "low")
            if without:
                self._resized.append((name, np.array(without, np.int64)))
        for name, value in given.constants.items():
            path = ("constants", name)
            bits = self._port(path, name, is_input=True).bits
            self._take(path, name)
            if value >> bits:
                raise given.refusal(path, f"below {1 << bits} for a port of {shown_bits(bits)}", value)
            for bit in range(bits):
                self._connect(row.ports[name].first + bit, ZERO, bool(value >> bit & 1))
        for name in row.ports:
            if name not in self._taken:
                problem = f"is missing: connect this input of {self.top} in [inputs], or give its value here"
                raise given.refusal(("constants", name), "given", "missing", problem=problem)
        self.absent = {name: self._value_of(name) for name in given.absent}

    def _connect(self, their: int, our: int, inverted: bool) -> None:  # noqa: FBT001 - one of three of a kind
        self.source[their], self.inverted[their] = our, inverted

    def _value_of(self, name: str) -> int:
        """Return the constant value of a port that the design lacks."""
        port, whole = self.inputs.ports[name], self.map.absent[name]
        given, count = (whole.value or 0, 1) if whole.each is None else (whole.each, port.elements)
        bits = port.bits // count
        if given >> bits:
            raise self.map.refusal(("absent", name), f"below {1 << bits} for {shown_bits(bits)}", given)
        return sum(given << bits * element for element in range(count))

    def _wire_outputs(self) -> LaneWires | None:
        """Connect the outputs and return the output that names the lane."""
        lane = None
        for name, wire in self.map.outputs.items():
            if wire.encoding != "number":
                lane = self._wire_lane(wire)
                places = lane.places
                elements = [0] * len(places)
            else:
                pairs, without = self._places("outputs", self.outputs.ports[name], wire, self.dut_outputs)
                places = np.array([their for their, _ in pairs], np.int64)
                self.expected_source[places] = [our for _, our in pairs]
                self.too_narrow += [(name, np.array(without, np.int64))] if without else []
                port = self.outputs.ports[name]
                bits = max(port.bits // port.elements, 1)
                elements = [(our - port.first) // bits if our >= 0 else 0 for _, our in pairs]
            self.expected_inverted[places] = wire.active == "low"
            self.cared[places] = 1
            for key, wanted in (("when", 1), ("unless", 0)):
                if (told := getattr(wire, key)) is not None:
                    if told in {name, wire.when if key == "unless" else None}:
                        problem = ": an output cannot be its own condition"
                        problem = problem if told == name else ": when and unless must name different outputs"
                        raise self.map.refusal(("outputs", name, key), "another output", told, problem=problem)
                    self.conditions.append((places, self._condition((name, key), told, elements), wanted))
        return lane

    def _condition(self, at: tuple[str, str], told: str, elements: list[int]) -> NDArray[np.int64]:
        """Return the index of the bit on which each bit of an output depends."""
        port, count = self.outputs.ports[told], max(elements) + 1
        if port.bits not in {1, count}:
            problem = f": output {told} has {shown_bits(port.bits)}, not 1 or {count}"
            raise self.map.refusal(("outputs", *at), f"an output of 1 or {count} bits", told, problem=problem)
        return np.array([port.first + (element if port.bits > 1 else 0) for element in elements], np.int64)

    def _wire_lane(self, wire: OutputWire) -> LaneWires:
        """Return the output that names the granted lane."""
        count, onehot = len(self.lanes.by_vl), wire.encoding == "onehot"
        path = ("outputs", "vl", "port" if wire.ports is None else "ports")
        if wire.ports is not None and not onehot:
            raise self.map.misplaced(path, "with encoding lane: use port")
        if wire.ports is not None and len(wire.ports) != count:
            raise self.map.refusal(path, f"a list of {count} ports, one per lane", f"{len(wire.ports)} ports")
        places: list[int] = []
        for index, name in enumerate(wire.names):
            at = path if wire.ports is None else (*path, index)
            width = self._port(at, name, is_input=False).bits
            self._take(at, name)
            least = 1 if wire.ports is not None else count if onehot else (count - 1).bit_length()
            if width < least or (onehot and width > least):
                must = f"{shown_bits(least)}{'' if onehot else ' or more'} for {count} lanes"
                problem = f": port {name} has {shown_bits(width)}, expected {must}"
                raise self.map.refusal(at, f"a port of {must}", name, problem=problem)
            first = self.dut_outputs.ports[name].first
            places += range(first, first + width)
        if wire.order == "high_first":
            places = places[::-1]
        return LaneWires(np.array(places, np.int64), onehot)

    # Rows

    def check_rows(self, rows: Words, cycle: int) -> None:
        """Reject rows of the block's inputs that need a port missing in the design.

        The first row belongs to ``cycle``.

        Raises
        ------
        InputError
            If there is such a row; the error names the port and the first cycle.
        """
        for name, value in self.absent.items():
            port = self.inputs.ports[name]
            wanted = np.array([value >> bit & 1 for bit in range(port.bits)], np.uint8)
            given = bits_of_rows(rows)[:, port.first : port.first + port.bits]
            words = "is constant in the design, but the traffic drives"
            self._refuse_first(("absent", name), given != wanted, words, rows, cycle)
        for name, places in self._resized:
            over = bits_of_rows(rows)[:, places] != 0
            self._refuse_first(("inputs", name), over, "is too narrow: the traffic drives", rows, cycle)

    def _refuse_first(
        self, path: tuple[str, str], bits: NDArray[np.bool_], words: str, rows: Words, cycle: int
    ) -> None:
        """Reject the first row with a wrong bit."""
        wrong = np.flatnonzero(bits.any(axis=1))
        if len(wrong):
            at = int(wrong[0])
            value = self.inputs.layout[path[1]].value(rows[at])
            got = f"{value:#x} in cycle {cycle + at}"
            raise self.map.refusal(path, "a value that the traffic allows", got, problem=f"{words} {got}")

    def dut_rows(self, rows: Words) -> Words:
        """Return rows of the block's inputs as rows of the design's inputs."""
        return rows_of_bits(bits_of_rows(rows)[:, self.source] ^ self.inverted)

    def our_rows(self, dut_rows: Words) -> Words:
        """Return rows of the design's inputs as rows of the block's inputs. Missing inputs are constant."""
        bits = np.zeros((len(dut_rows), 64 * self.inputs.words + 1), np.uint8)
        theirs = bits_of_rows(dut_rows)[:, :-1] ^ self.inverted
        carried = self.source != ZERO
        bits[:, self.source[carried]] = theirs[:, carried]
        rows = rows_of_bits(bits[:, :-1])
        for name, value in self.absent.items():
            self.inputs.layout[name].put(rows, value)
        return rows

    def expected(self, rows: Words, outputs: Words) -> tuple[Words, Words]:
        """Return golden's outputs as rows of the design's outputs, and masks of the bits to compare.

        Parameters
        ----------
        rows, outputs : array of uint64
            The block's inputs and golden's outputs, for the same cycles.

        Raises
        ------
        InputError
            If a value does not fit into a port of the design.
        """
        if self.map.timing.ready == "request":
            outputs = outputs.copy()
            busy = self.inputs.layout["ready"].get(rows) == 0
            for name in DECISION:
                field = self.outputs.layout[name]
                mask = np.uint64(((1 << field.bits) - 1) << field.shift)
                outputs[busy, field.word] &= ~mask
        ours = bits_of_rows(outputs)
        theirs = ours[:, self.expected_source]
        if self.lane is not None:
            granted = self.outputs.layout["grant"].get(outputs) != 0
            lanes = self.lanes.numbers(self.outputs.layout["vl"].get(outputs))
            for index, place in enumerate(self.lane.places):
                bit = lanes == index if self.lane.onehot else (lanes >> index & 1).astype(bool)
                theirs[:, place] = bit & granted
        theirs ^= self.expected_inverted
        care = np.broadcast_to(self.cared, theirs.shape).copy()
        for places, conditions, wanted in self.conditions:
            care[:, places] &= ours[:, conditions] == wanted
        for _, places in self.too_narrow:
            if (wrong := ours[:, places].any(axis=1)).any():
                row = outputs[np.flatnonzero(wrong)[0]]
                self.refuse_narrow(sum(int(word) << 64 * index for index, word in enumerate(row)))
        return rows_of_bits(theirs), rows_of_bits(care)

    def refuse_narrow(self, outputs: int) -> NoReturn:
        """Reject a row of golden's outputs, as a number, with a value that does not fit into the design's port."""
        for name, places in self.too_narrow:
            if any(outputs >> int(place) & 1 for place in places):
                port = self.outputs.ports[name]
                value = outputs >> port.first & (1 << port.bits) - 1
                problem = f": the design's port is too narrow for the value {value}"
                raise self.map.refusal(("outputs", name), "wide enough for its values", value, problem=problem)
        raise AssertionError("every value fits")

    def answer(self, dut_row: Words) -> dict[str, int | list[int]]:
        """Return a row of the design's outputs as the block's outputs, with a one-hot grant as a list of VLs."""
        bits = bits_of_rows(dut_row[np.newaxis])[0, :-1] ^ self.expected_inverted
        found: dict[str, int | list[int]] = {}
        for name in self.map.outputs:
            if name == "vl" and self.lane is not None:
                found[name] = self.lanes.vls_named(bits[self.lane.places], onehot=self.lane.onehot)
                continue
            port = self.outputs.ports[name]
            value = 0
            for place in np.flatnonzero(
                (self.expected_source >= port.first) & (self.expected_source < port.first + port.bits)
            ):
                value |= int(bits[place]) << int(self.expected_source[place]) - port.first
            found[name] = value
        return found
