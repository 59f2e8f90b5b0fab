"""Conversion of rows between a block's ports and those of a foreign design."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from vlane.sim_top.dut.connections import DECISION, RESET, ZERO, Connections
from vlane.sim_top.dut.ports import bits_of_rows, rows_of_bits
from vlane.tb.machinery.native.rows import Words

__all__ = ["DECISION", "RESET", "ZERO", "Wiring"]


class Wiring(Connections):
    """Connections with the conversion of rows in both directions, constructed like ``Connections``."""

    def check_rows(self, rows: Words, cycle: int) -> None:
        """Reject rows of the block's inputs that drive absent ports or need wider ports than the design has.

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
            self._check_bits(("absent", name), given != wanted, words, rows, cycle)
        for name, places in self._resized:
            over = bits_of_rows(rows)[:, places] != 0
            self._check_bits(("inputs", name), over, "is too narrow: the traffic drives", rows, cycle)

    def _check_bits(self, path: tuple[str, str], bits: NDArray[np.bool_], words: str, rows: Words, cycle: int) -> None:
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
        raise AssertionError("refuse_narrow was called for outputs that fit")

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
