"""Scoreboard for cocotb benches: compares a device with golden, cycle by cycle (``docs/your_rtl.md``)."""

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
    """Error: the device differs from golden, or nothing was compared."""


class Scoreboard:
    """Comparison of a device in a cocotb test with golden.

    The scoreboard samples the device's ports just before every active clock edge, runs golden for the same cycle, and
    compares when the map says that the answer is due. If the map has a reset, nothing is compared before the first
    reset; a later reset also resets golden and discards answers in flight. The bench drives all inputs of the device,
    including the clock, which cocotb must drive.

    Parameters
    ----------
    dut : cocotb handle
        Device under test.
    block : str
        Block whose behaviour the device must match (``docs/catalogue.md``).
    given : Path, str or DutMap, optional
        Port map; without a map the device has the block's port names.
    table : optional
        Table for a device with a built-in table, as for ``vlane.oracle(...).program``. Golden is programmed with it at
        the start and after every reset.
    raises : bool
        Whether the first difference ends the test. Otherwise ``difference`` holds it, and ``check`` raises.
    **parameters
        Parameters of the instance; they override those of the map.

    Attributes
    ----------
    difference : Difference or None
        First difference: cycle, outputs, and the inputs of that cycle and of some before, under the device's and
        vlane's names.
    cycles, checked, decisions, resets : int
        Cycles sampled, cycles compared, golden's decisions, cycles in reset.
    rules : dict of str to int
        Number of occurrences of each rule on the block's page.

    Raises
    ------
    InputError
        If the map does not fit the device or the block.
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
        """Start sampling in the background. Return the task, which ends with the test."""
        return start_soon(self._watch())

    async def _watch(self) -> None:
        clock = getattr(self._dut, self.map.clock.port)
        edge = FallingEdge(clock) if self.map.clock.edge == "falling" else RisingEdge(clock)
        while True:
            await edge
            self.sample()

    def sample(self) -> Difference | None:
        """Sample and compare one cycle. ``start`` calls it at every active edge. A bench may call it instead.

        Raises
        ------
        ScoreboardError
            If an input is unknown after the first reset, or if the device differs and ``raises`` is set.
        """
        inputs = {name: _known(handle) for name, handle in self._inputs.items()}
        outputs = {name: _known(handle) for name, handle in self._outputs.items()}
        reset = self.map.reset
        if any(lost for _, lost in inputs.values()):
            active = reset is not None and inputs[reset.port] == (int(reset.active == "high"), 0)
            if self._follower.resets and not active:
                name = next(name for name, (_, lost) in inputs.items() if lost)
                raise ScoreboardError(f"cycle {self.cycles}: input {name} has unknown bits: {self._inputs[name].value}")
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
        """Raise ``ScoreboardError`` if there was a difference or nothing was compared."""
        if self.difference is not None:
            raise ScoreboardError(str(self.difference))
        if not self.checked:
            raise ScoreboardError("nothing was compared: check that the clock runs and the device was reset")

    @property
    def difference(self) -> Difference | None:
        """First difference, ``None`` if there is none."""
        return self._follower.difference

    @property
    def cycles(self) -> int:
        """Number of cycles sampled."""
        return self._follower.cycles

    @property
    def checked(self) -> int:
        """Number of cycles in which an output was compared."""
        return self._follower.checked

    @property
    def decisions(self) -> int:
        """Number of golden's decisions, or of cycles for a block without grants."""
        return self._follower.decisions

    @property
    def resets(self) -> int:
        """Number of cycles in reset."""
        return self._follower.resets

    @property
    def rules(self) -> dict[str, int]:
        """Number of occurrences of each rule on the block's page."""
        return self._oracle.rules


def _ports(dut: Any, given: DutMap) -> tuple[Port, ...]:
    """Return the device's ports that the map names."""
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
    """Return a port's value with unknown bits as 0, and the mask of unknown bits."""
    value = handle.value
    try:
        return int(value), 0
    except ValueError:
        text = str(value)
    known = int("".join(bit if bit in "01" else "0" for bit in text), 2)
    return known, int("".join("0" if bit in "01" else "1" for bit in text), 2)
