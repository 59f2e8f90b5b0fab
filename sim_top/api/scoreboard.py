"""Scoreboard for cocotb benches: compares a device with golden, cycle by cycle (``docs/your_rtl.md``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cocotb
from cocotb import start_soon
from cocotb.task import Task
from cocotb.triggers import FallingEdge, RisingEdge

from vlane.dut_map import DutMap, ElasticTiming, read_map
from vlane.errors import InputError
from vlane.sim_top.blocks import Block, find_block
from vlane.sim_top.dut.closed_run import closed_wiring, elastic_of, golden_of
from vlane.sim_top.dut.elastic_follower import ElasticFollower
from vlane.sim_top.dut.findings import Failure
from vlane.sim_top.dut.follower import Follower
from vlane.sim_top.dut.goldens import OwnGolden
from vlane.sim_top.dut.lockstep import Difference
from vlane.sim_top.dut.open_run import instance_parameters, same_names
from vlane.sim_top.dut.own_oracle import OwnOracle
from vlane.sim_top.dut.signals import Signals
from vlane.sim_top.dut.wiring import Wiring
from vlane.sim_top.oracles.oracle import oracle
from vlane.tb.machinery.native.rows import Port

__all__ = ["Scoreboard", "ScoreboardError"]

_VERILATOR = (5, 48)
"""Oldest version of Verilator whose verdicts count."""


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
        the start and after every reset. With an elastic map: the path of a table file.
    clock : cocotb handle, optional
        Clock that the bench drives; required if ``dut`` is an instance inside the top module.
    golden : object, optional
        Own golden model with ``initial`` and ``decide`` (``docs/elastic.md``) instead of the block's.
    raises : bool
        Whether the first difference ends the test. Otherwise ``difference`` holds it, and ``check`` raises.
    **parameters
        Parameters of the instance; they override those of the map.

    Attributes
    ----------
    difference : Difference or None
        First difference: cycle, outputs, and the inputs of that cycle and of some before, under the device's and
        vlane's names.
    cycles : int
        Number of cycles sampled.
    checked : int
        Number of cycles compared.
    decisions : int
        Number of golden's decisions.
    resets : int
        Number of cycles in reset.
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
        clock: Any = None,
        golden: Any = None,
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
        self._dut, self._raises, self._clock = dut, raises, _clock_of(dut, told, clock)
        self._follower = self._followed(found, whole, told, table, golden)
        self._inputs = {name: getattr(dut, name) for name in self.wiring.dut_inputs.ports}
        self._outputs = {name: getattr(dut, name) for name in self.wiring.dut_outputs.ports}
        self.warnings = _old_simulator()
        for warning in self.warnings:
            dut._log.warning(warning)

    def _followed(
        self, block: Block, whole: Mapping[str, Any], told: DutMap, table: Any, golden: Any
    ) -> Follower | ElasticFollower:
        """Return the follower that the map asks for, and set ``map`` and ``wiring``."""
        name, ports = self._dut._name, _ports(self._dut, told)
        if golden is None and not isinstance(told.timing, ElasticTiming):
            self.map, self.wiring = told, Wiring(block, whole, told, name, ports)
            self._oracle = oracle(block.name, **whole)
            prepare = (lambda: self._oracle.program(table)) if table is not None else None
            return Follower(self.wiring, self._oracle, prepare)
        self.wiring = closed_wiring(block, whole, told, name, ports)
        self.map = self.wiring.map
        own = None if golden is None else OwnGolden(golden, len(self.wiring.lanes.by_vl), type(golden).__name__)
        model = own or golden_of(self.wiring, block, whole, Path(table) if table is not None else None, None)
        if not isinstance(told.timing, ElasticTiming):
            return Follower(self.wiring, OwnOracle(model))
        gated = Signals(self.wiring).gated
        return ElasticFollower(self.wiring, elastic_of(self.wiring, block, whole, model, gated=gated))

    def start(self) -> Task[None]:
        """Start sampling in the background. Return the task, which ends with the test."""
        return start_soon(self._watch())

    async def _watch(self) -> None:
        edge = FallingEdge(self._clock) if self.map.clock.edge == "falling" else RisingEdge(self._clock)
        while True:
            await edge
            self.sample()

    def sample(self) -> Difference | Failure | None:
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
    def difference(self) -> Difference | Failure | None:
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
        return self._follower.rules


def _clock_of(dut: Any, given: DutMap, clock: Any) -> Any:
    """Return the clock to sample at, and reject an inner instance without the bench's clock.

    A simulator may report the edge of an inner clock after the registers have changed.
    """
    if clock is not None:
        return clock
    if dut._path != cocotb.top._path:
        problem = f"is missing: {dut._path} is inside {cocotb.top._name}; give the clock that the bench drives"
        raise InputError("clock", "given", "missing", problem=problem)
    return getattr(dut, given.clock.port)


def _old_simulator() -> list[str]:
    """Return a warning about a Verilator older than the one that vlane is tested with."""
    found = re.search(r"(\d+)\.(\d+)", str(cocotb.SIM_VERSION))
    if cocotb.SIM_NAME != "Verilator" or found is None:
        return []
    used = (int(found[1]), int(found[2]))
    if used >= _VERILATOR:
        return []
    shown = f"{used[0]}.{used[1]:03}"
    return [f"Verilator {shown} is older than {_VERILATOR[0]}.{_VERILATOR[1]:03}: its verdicts are not reliable"]


def _ports(dut: Any, given: DutMap) -> tuple[Port, ...]:
    """Return the device's ports that the map names."""
    inputs = [given.clock.port, *given.constants, *(name for wire in given.inputs.values() for name in wire.names)]
    inputs = [name.partition("[")[0] for name in inputs]
    inputs += [given.reset.port] if given.reset else []
    outputs = [name for wire in given.outputs.values() for name in wire.names]
    if isinstance(given.timing, ElasticTiming):
        outputs += given.timing.ports  # their direction is irrelevant for a bench, which drives all inputs itself
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
