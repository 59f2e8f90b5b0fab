"""A scoreboard for a cocotb bench: golden beside the user's own device, cycle by cycle (``docs/your_rtl.md``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cocotb import start_soon
from cocotb.task import Task
from cocotb.triggers import FallingEdge, RisingEdge

from vlane.dut_map import DutMap, read_map
from vlane.sim_top.api.oracle import oracle
from vlane.sim_top.blocks import find_block
from vlane.sim_top.dut.follower import Follower
from vlane.sim_top.dut.lockstep import Difference
from vlane.sim_top.dut.open_run import instance_parameters, same_names
from vlane.sim_top.dut.wiring import Wiring
from vlane.tb.machinery.native.rows import Port

__all__ = ["Scoreboard", "ScoreboardError"]


class ScoreboardError(AssertionError):
    """The device does something else than golden, or nothing was compared."""


class Scoreboard:
    """Golden beside a device under a cocotb test.

    It samples the device's ports just before every active edge of its clock, lets golden take the same cycle, and
    compares when the map says that the answer is due. Nothing is compared before the first reset, if the map has one;
    a reset in the middle resets golden too, and clears the answers that are on their way. The bench drives the device
    as it likes, the clock too, which cocotb must drive.

    Parameters
    ----------
    dut : cocotb handle
        The device.
    block : str
        The block that it must be like (``docs/catalogue.md``).
    given : Path, str or DutMap, optional
        The map; without one the device has the block's ports by their names.
    table : optional
        What ``vlane.oracle(...).program`` takes: for a device that has its table built in. Golden is programmed with
        it, and again after every reset.
    raises : bool
        Whether the first difference ends the test; else it is in ``difference``, and ``check`` tells it.
    **parameters
        Of the block's instance, before those of the map.

    Attributes
    ----------
    difference : Difference or None
        The first one: cycle, outputs, and the inputs of that cycle and of some before, in the device's names and ours.
    cycles, checked, decisions, resets : int
        Cycles sampled, cycles compared, decisions of golden, cycles of reset.
    rules : dict of str to int
        How often each rule of the block's page happened.

    Raises
    ------
    InputError
        If the map does not fit the device, or the block.
    """

    def __init__(
        self,
        dut: Any,
        block: str,
        given: Path | str | DutMap | None = None,
        *,
        table: Any = None,
        raises: bool = True,
        **parameters: Any,
    ) -> None:
        found = find_block(block)
        told = given if isinstance(given, DutMap) or given is None else read_map(Path(given))
        words = [
            f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in parameters.items()
        ]
        whole = instance_parameters(found, told, words)
        told = told or same_names(found, whole)
        self._dut, self._raises = dut, raises
        self.map, self.wiring = told, Wiring(found, whole, told, dut._name, _ports(dut, told))
        self._oracle = oracle(block, **whole)
        self._inputs = {name: getattr(dut, name) for name in self.wiring.dut_inputs.ports}
        self._outputs = {name: getattr(dut, name) for name in self.wiring.dut_outputs.ports}
        prepare = (lambda: self._oracle.program(table)) if table is not None else None
        self._follower = Follower(self.wiring, self._oracle, prepare)

    def start(self) -> Task[None]:
        """Begin to watch; return the task, which ends with the test."""
        return start_soon(self._watch())

    async def _watch(self) -> None:
        clock = getattr(self._dut, self.map.clock.port)
        edge = FallingEdge(clock) if self.map.clock.edge == "falling" else RisingEdge(clock)
        while True:
            await edge
            self.sample()

    def sample(self) -> Difference | None:
        """Take one cycle: what ``start`` does at every active edge, for a bench that calls it itself.

        Raises
        ------
        ScoreboardError
            If it differs, unless that is only noted; or if an input is unknown after the first reset.
        """
        inputs = {name: _known(handle) for name, handle in self._inputs.items()}
        outputs = {name: _known(handle) for name, handle in self._outputs.items()}
        reset = self.map.reset
        if any(lost for _, lost in inputs.values()):
            active = reset is not None and inputs[reset.port] == (int(reset.active == "high"), 0)
            if self._follower.resets and not active:
                name = next(name for name, (_, lost) in inputs.items() if lost)
                raise ScoreboardError(f"cycle {self.cycles}: input {name} is unknown: {self._inputs[name].value}")
            if reset is not None and inputs[reset.port][1]:
                return None
        found = self._follower.cycle(
            {name: value for name, (value, _) in inputs.items()},
            {name: value for name, (value, _) in outputs.items()},
            {name: lost for name, (_, lost) in outputs.items()},
        )
        if found is not None and self._raises:
            raise ScoreboardError(str(found))
        return found

    def check(self) -> None:
        """Raise ``ScoreboardError`` if there was a difference, or if nothing was compared."""
        if self.difference is not None:
            raise ScoreboardError(str(self.difference))
        if not self.checked:
            raise ScoreboardError("nothing was compared: the device was never reset, or its clock does not run")

    @property
    def difference(self) -> Difference | None:
        """The first difference."""
        return self._follower.difference

    @property
    def cycles(self) -> int:
        """Cycles sampled."""
        return self._follower.cycles

    @property
    def checked(self) -> int:
        """Cycles in which something was compared."""
        return self._follower.checked

    @property
    def decisions(self) -> int:
        """Decisions of golden; its cycles, for a block that does not grant."""
        return self._follower.decisions

    @property
    def resets(self) -> int:
        """Cycles of reset."""
        return self._follower.resets

    @property
    def rules(self) -> dict[str, int]:
        """How often each rule of the block's page happened."""
        return self._oracle.rules


def _ports(dut: Any, given: DutMap) -> tuple[Port, ...]:
    """Return the ports of a device that a map names and that are there."""
    inputs = [given.clock.port, *given.constants, *(name for wire in given.inputs.values() for name in wire.names)]
    inputs += [given.reset.port] if given.reset else []
    outputs = [name for wire in given.outputs.values() for name in wire.names]
    found = []
    for names, is_input in ((inputs, True), (outputs, False)):
        for name in dict.fromkeys(names):
            handle = getattr(dut, name, None)
            if handle is not None:
                found.append(Port(name, len(handle), is_input=is_input))
    return tuple(found)


def _known(handle: Any) -> tuple[int, int]:
    """Return a port's value, unknown bits as 0, and which bits are unknown."""
    value = handle.value
    try:
        return int(value), 0
    except ValueError:
        text = str(value)
    known = int("".join(bit if bit in "01" else "0" for bit in text), 2)
    return known, int("".join("0" if bit in "01" else "1" for bit in text), 2)
