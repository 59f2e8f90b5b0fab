"""Connections between the ports of a block and those of a foreign design, from a checked port map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.documents.document import placed
from vlane.documents.refusal import joined
from vlane.dut_map import DutMap, ElasticTiming, InputWire, Last, OutputWire, Strobe
from vlane.errors import InputError, closest
from vlane.sim_top.blocks import Block
from vlane.sim_top.dut.lanes import Lanes, LaneWires, StrobeWires
from vlane.sim_top.dut.ports import BlockPort, PortRow, block_rows, shown_bits
from vlane.tb.machinery.native.rows import Port

RESET = "rst"
"""Reset of the block, active high and synchronous."""
DECISION = ("grant", "vl", "from_list", "blocks")
"""Outputs of a scheduler that are 0 without a grant."""
CLOSED_INPUTS = ("heads__request", "ready")
"""Inputs that closed-loop requesters drive."""
ZERO = -1
"""Index of a constant 0 bit after the last bit of a row."""


class Connections:
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
    closed : bool
        Whether closed-loop requesters drive the module: decisions are compared instead of cycles.

    Attributes
    ----------
    inputs, outputs : PortRow
        Ports of the block.
    dut_inputs, dut_outputs : PortRow
        Ports of the design as rows; without the clock and without outputs that the map omits.
    dut_ports : tuple of Port
        The same ports as a tuple.
    compared : list of str
        Compared outputs.
    left_out : list of str
        Outputs that the design lacks.
    decides : bool
        Whether the block grants.
    absent : dict of str to int
        Constant values of inputs that the design lacks.
    lanes : Lanes
        Lanes of the port; none if the block does not grant.
    source : array
        For each bit of a row of the design's inputs: index of the block's bit, or ``ZERO``.
    inverted : array
        Whether each bit is inverted.
    expected_source : array
        For each bit of a row of the design's outputs: index of the block's bit, or ``ZERO``.
    expected_inverted : array
        Whether each bit is inverted.
    cared : array
        Whether each bit is compared.
    conditions : list of (array, array, int)
        Indices of the design's output bits that are compared only while bits of the block's outputs have a given value.
    too_narrow : list of (str, array)
        Indices of the block's output bits that have no bit in the design, by output.
    lane : LaneWires or None
        Output that names the granted lane.
    acknowledges : array of int64
        Index of each lane's acknowledge in a row of the design's inputs; ``ZERO`` without acknowledges per lane.
    strobes : dict of str to StrobeWires
        Ports that the keys ``decision``, ``latency`` and ``release`` of an elastic timing name.

    Raises
    ------
    InputError
        If the map does not fit; names the first offending key, and the others in its details.
    """

    def __init__(
        self,
        block: Block,
        parameters: Mapping[str, Any],
        given: DutMap,
        top: str,
        ports: tuple[Port, ...],
        *,
        closed: bool = False,
    ) -> None:
        self.map, self.top, self.closed = given, top, closed
        self._problems: list[InputError] = []
        self.inputs, self.outputs = block_rows(block, parameters)
        self.decides = "ready" in self.inputs.ports and set(DECISION) <= set(self.outputs.ports)
        self._theirs = {port.name: port for port in ports}
        self._vl15 = bool(self.decides and parameters["vl15"])
        self.lanes = Lanes(parameters["data_vls"] if self.decides else 0, vl15=self._vl15)
        self._check_names()
        strobes = given.timing.ports if isinstance(given.timing, ElasticTiming) else []
        used = {*strobes, *(name for wire in given.outputs.values() for name in wire.names)}
        clock = given.clock.port
        self.dut_ports = tuple(p for p in ports if (p.is_input and p.name != clock) or p.name in used)
        self.dut_inputs = PortRow(self.dut_ports, inputs=True)
        self.dut_outputs = PortRow(self.dut_ports, inputs=False)
        self._taken: dict[tuple[str, int], str] = {(clock, 0): "clock"}
        self.source = np.full(64 * self.dut_inputs.words, ZERO, np.int64)
        self.inverted = np.zeros(64 * self.dut_inputs.words, np.uint8)
        self.acknowledges = np.full(len(self.lanes.by_vl), ZERO, np.int64)
        self.strobes: dict[str, StrobeWires] = {}
        self.absent: dict[str, int] = {}
        self._wire_inputs()
        self.expected_source = np.full(64 * self.dut_outputs.words, ZERO, np.int64)
        self.expected_inverted = np.zeros(64 * self.dut_outputs.words, np.uint8)
        self.cared = np.zeros(64 * self.dut_outputs.words, np.uint8)
        self.conditions: list[tuple[NDArray[np.int64], NDArray[np.int64], int]] = []
        self.too_narrow: list[tuple[str, NDArray[np.int64]]] = []
        self.lane = self._wire_outputs()
        if self._problems:
            raise joined(self._problems)
        told = set(given.outputs)
        if self.lane is not None and self.lane.onehot and given.outputs["vl"].when is None:
            told.add("grant")
        self.compared = [name for name in self.outputs.ports if name in told]
        self.left_out = [name for name in self.outputs.ports if name not in told]

    # Checks

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Collect an error, so that all errors of a map are reported together."""
        try:
            yield
        except InputError as error:
            self._problems.append(placed(error))

    def _check_names(self) -> None:
        """Collect keys that are not ports of the block, and inputs of the block that the map omits."""
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
                    with self._noted():
                        raise refusal((section, name), must, "unknown", problem=problem, meant=closest(name, known))
        for name in wired:
            with self._noted():
                if name in given.inputs and name in given.absent:
                    raise given.misplaced(("absent", name), "together with an entry in [inputs]")
                if name not in given.inputs and name not in given.absent:
                    problem = "is missing: connect the input, or give its constant value in [absent]"
                    raise refusal(("inputs", name), "given", "missing", problem=problem)
                if self.closed and name in given.inputs and name not in CLOSED_INPUTS:
                    why = f"when decisions are compared: only {', '.join(CLOSED_INPUTS)}"
                    raise given.misplaced(("inputs", name), why)
        if self.closed:
            self._check_closed()
        elif not self.decides:
            for key, usual in (("every", 1), ("ready", "either"), ("between", "hold")):
                if getattr(given.timing, key) != usual:
                    with self._noted():
                        raise given.misplaced(("timing", key), "for a block without grants")
        for name, wire in given.outputs.items():
            for key in ("when", "unless"):
                told = getattr(wire, key)
                if told is not None and told not in self.outputs.ports:
                    must = f"an output of the block ({', '.join(self.outputs.ports)})"
                    with self._noted():
                        raise refusal(("outputs", name, key), must, told, meant=closest(told, self.outputs.ports))
            if wire.encoding != "number" and not (self.decides and name == "vl"):
                with self._noted():
                    must = f"number (only vl of a scheduler can be {wire.encoding})"
                    raise refusal(("outputs", name, "encoding"), must, wire.encoding)

    def _check_closed(self) -> None:
        """Collect the reasons why decisions of this design cannot be compared."""
        given = self.map
        with self._noted():
            if not self.decides:
                raise given.misplaced(("timing", "mode"), "= elastic for a block without grants")
        with self._noted():
            if self._vl15:
                problem = "must be false when decisions are compared"
                raise given.refusal(("block", "vl15"), "false", got=True, problem=problem)
        with self._noted():
            if "vl" not in given.outputs:
                problem = "is missing: name the output that selects the lane"
                raise given.refusal(("outputs", "vl"), "given", "missing", problem=problem)

    def _port(self, path: tuple[str | int, ...], name: str, *, is_input: bool) -> Port:
        """Return a port of the design."""
        known = [port.name for port in self._theirs.values() if port.is_input == is_input]
        found = self._theirs.get(name)
        kind = "input" if is_input else "output"
        if found is None or found.is_input != is_input:
            must = f"an {kind} of {self.top} ({', '.join(known)})"
            raise self.map.refusal(path, must, name, meant=closest(name, known))
        return found

    def _take(self, path: tuple[str | int, ...], wire: str, *, is_input: bool) -> tuple[int, int]:
        """Mark the bits of a wire as connected, and return the place of its lowest bit in the row, and its width."""
        name, _, part = wire.partition("[")
        port = self._port(path, name, is_input=is_input)
        high, low = port.bits - 1, 0
        if part:
            ends = [int(each) for each in part.rstrip("]").split(":")]
            high, low = ends[0], ends[-1]
        if not 0 <= low <= high < port.bits:
            problem = f": port {name} has {shown_bits(port.bits)}, numbered 0 to {port.bits - 1}"
            raise self.map.refusal(path, "bits of the port", wire, problem=problem)
        for bit in range(low, high + 1):
            if (name, bit) in self._taken:
                problem = f": port {name} is already connected by {self._taken[name, bit]}"
                raise self.map.refusal(path, "an unconnected port", wire, problem=problem)
        self._taken |= dict.fromkeys(((name, bit) for bit in range(low, high + 1)), ".".join(map(str, path)))
        row = self.dut_inputs if is_input else self.dut_outputs
        return row.ports[name].first + low, high - low + 1

    def _places(self, section: str, ours: BlockPort, wire: InputWire) -> tuple[list[tuple[int, int]], list[int]]:
        """Return (design's bit, block's bit or ``ZERO``) pairs, and the block's bits that the design lacks."""
        elements = 1 if wire.resize and not ours.is_array and wire.ports is None else ours.elements
        bits = ours.bits // elements
        if elements == 1 and ours.bits > 1 and wire.order == "high_first":
            raise self.map.misplaced((section, ours.name, "order"), "with resize")
        their = self._elements(section, ours, wire, elements=elements, bits=bits)
        if wire.order == "high_first":
            their = their[::-1]
        pairs, without = [], []
        for element, (first, width) in enumerate(their):
            start = ours.first + element * bits
            pairs += [(first + bit, start + bit if bit < bits else ZERO) for bit in range(width)]
            without += [start + bit for bit in range(width, bits)]
        return pairs, without

    def _elements(
        self, section: str, ours: BlockPort, wire: InputWire, *, elements: int, bits: int
    ) -> list[tuple[int, int]]:
        """Return the lowest bit and the width of each of the design's elements, in the order of the map."""
        is_input, key = section == "inputs", "port" if wire.ports is None else "ports"
        path = (section, ours.name, key)
        if wire.ports is not None and len(wire.ports) != elements:
            raise self.map.refusal(path, f"a list of {elements} ports", f"{len(wire.ports)} ports")
        count = elements if wire.ports is None else 1
        total = bits * count
        found = []
        for index, name in enumerate(wire.wires):
            at = path if wire.ports is None else (*path, index)
            first, width = self._take(at, name, is_input=is_input)
            if width != total and not wire.resize:
                problem = f": port {name} has {shown_bits(width)}, not {total}; set resize = true to allow this"
                raise self.map.refusal(at, f"a port of {shown_bits(total)}", name, problem=problem)
            if width % count:
                problem = f": port {name} has {shown_bits(width)}, which do not divide into {count} equal elements"
                raise self.map.refusal(at, f"a port of {count} equal elements", name, problem=problem)
            each = width // count
            found += [(first + element * each, each) for element in range(count)]
        return found

    def _wire_inputs(self) -> None:
        given = self.map
        clock = self._port(("clock",), given.clock.port, is_input=True)
        if clock.bits != 1:
            problem = f": port {clock.name} has {shown_bits(clock.bits)}, not 1"
            raise given.refusal(("clock",), "a port of 1 bit", clock.name, problem=problem)
        if given.reset is not None:
            with self._noted():
                path = ("reset", "port")
                first, width = self._take(path, given.reset.port, is_input=True)
                if width != 1:
                    problem = f": port {given.reset.port} has {shown_bits(width)}, not 1"
                    raise given.refusal(path, "a port of 1 bit", given.reset.port, problem=problem)
                self._connect(first, self.inputs.ports[RESET].first, given.reset.active == "low")
        self._resized: list[tuple[str, NDArray[np.int64]]] = []
        for name, wire in given.inputs.items():
            if name in self.inputs.ports:
                with self._noted():
                    self._wire_input(name, wire)
        for name, value in given.constants.items():
            with self._noted():
                path = ("constants", name)
                first, bits = self._take(path, name, is_input=True)
                if value >> bits:
                    raise given.refusal(path, f"below {1 << bits} for a port of {shown_bits(bits)}", value)
                for bit in range(bits):
                    self._connect(first + bit, ZERO, bool(value >> bit & 1))
        self._wire_strobes()
        for name, port in self.dut_inputs.ports.items():
            free = [bit for bit in range(port.bits) if (name, bit) not in self._taken]
            if free and not self._named(name):
                open_part = name if len(free) == port.bits else f"{name}[{free[0]}]"
                problem = f"is missing: connect this input of {self.top} in [inputs], or give its value here"
                self._problems.append(given.refusal(("constants", open_part), "given", "missing", problem=problem))
        for name in given.absent:
            if name in self.inputs.ports:
                with self._noted():
                    self.absent[name] = self._value_of(name)

    def _wire_input(self, name: str, wire: InputWire) -> None:
        ours = self.inputs.ports[name]
        if wire.gate != "none" and (name != "ready" or not isinstance(self.map.timing, ElasticTiming)):
            why = 'unless timing.mode = "elastic"' if name == "ready" else "for inputs other than ready"
            raise self.map.misplaced(("inputs", name, "gate"), why)
        if wire.gate == "lane":
            ours = replace(ours, bits=len(self.lanes.by_vl), elements=len(self.lanes.by_vl))
        pairs, without = self._places("inputs", ours, wire)
        for their, our in pairs:
            if wire.gate == "lane":
                self.acknowledges[our - ours.first] = their
                self._connect(their, ZERO, wire.active == "low")
            else:
                self._connect(their, our, wire.active == "low")
        if without:
            self._resized.append((name, np.array(without, np.int64)))

    def _wire_strobes(self) -> None:
        """Connect the ports that an elastic timing names."""
        timing = self.map.timing
        if not isinstance(timing, ElasticTiming):
            return
        for key, told in (("decision", timing.decision), ("latency", timing.latency), ("release", timing.release)):
            if not isinstance(told, Strobe | Last):
                continue
            name, word = (told.last, "last") if isinstance(told, Last) else (told.strobe, "strobe")
            with self._noted():
                path = ("timing", key, word)
                is_input = isinstance(told, Last) and name in self._theirs and self._theirs[name].is_input
                first, width = self._take(path, name, is_input=is_input)
                accepted = {1, len(self.lanes.by_vl)} if isinstance(told, Last) else {1}
                if width not in accepted:
                    problem = f": port {name} has {shown_bits(width)}, not {' or '.join(map(str, sorted(accepted)))}"
                    raise self.map.refusal(path, "a port of that width", name, problem=problem)
                low = isinstance(told, Last) and told.active == "low"
                self.strobes[key] = StrobeWires(np.arange(first, first + width), is_input=is_input, low=low)

    def _named(self, name: str) -> bool:
        """Return whether a wrong entry of the map names a port, which is then not reported as missing."""
        given = self.map
        names = [*given.constants, *(each for wire in given.inputs.values() for each in wire.wires)]
        return bool(self._problems) and any(each.partition("[")[0] == name for each in names)

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
            if name in self.outputs.ports:
                with self._noted():
                    lane = self._wire_output(name, wire) or lane
        return lane

    def _wire_output(self, name: str, wire: OutputWire) -> LaneWires | None:
        lane = None
        if wire.encoding != "number":
            lane = self._wire_lane(wire)
            places = lane.places
            elements = [0] * len(places)
        else:
            pairs, without = self._places("outputs", self.outputs.ports[name], wire)
            places = np.array([their for their, _ in pairs], np.int64)
            self.expected_source[places] = [our for _, our in pairs]
            self.too_narrow += [(name, np.array(without, np.int64))] if without else []
            port = self.outputs.ports[name]
            bits = max(port.bits // port.elements, 1)
            elements = [(our - port.first) // bits if our >= 0 else 0 for _, our in pairs]
        self.expected_inverted[places] = wire.active == "low"
        self.cared[places] = 1
        for key, wanted in (("when", 1), ("unless", 0)):
            if (told := getattr(wire, key)) in self.outputs.ports:
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
        for index, name in enumerate(wire.wires):
            at = path if wire.ports is None else (*path, index)
            first, width = self._take(at, name, is_input=False)
            least = 1 if wire.ports is not None else count if onehot else (count - 1).bit_length()
            if width < least or (onehot and width > least):
                must = f"{shown_bits(least)}{'' if onehot else ' or more'} for {count} lanes"
                problem = f": port {name} has {shown_bits(width)}, expected {must}"
                raise self.map.refusal(at, f"a port of {must}", name, problem=problem)
            places += range(first, first + width)
        if wire.order == "high_first":
            places = places[::-1]
        return LaneWires(np.array(places, np.int64), onehot)
