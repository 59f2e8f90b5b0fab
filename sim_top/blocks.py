"""Catalogue of blocks by name, with component, parameters and proofs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vlane.buffers.vlbuffer import VLBufferParameters
from vlane.congestion.cc_marker import CCMarkerParameters
from vlane.congestion.cc_source import CCSourceParameters
from vlane.credits.credit_ib import CreditIBParameters
from vlane.credits.credit_opa import CreditOPAParameters
from vlane.errors import unknown_word
from vlane.ethernet.e2cm_prober import E2CMProberParameters
from vlane.ethernet.ecm_cp import ECMCPParameters
from vlane.ethernet.ecm_rp import ECMRPParameters
from vlane.ethernet.pause import PauseParameters
from vlane.hdl.by_name import component
from vlane.parameters import Parameters
from vlane.schedulers.registry import IB_ARBITER, SCHEDULERS, Scheduler
from vlane.switches.ib_switch import IBSwitchParameters
from vlane.switches.opa_switch import OPASwitchParameters
from vlane.tables.lft import LFTParameters
from vlane.tables.sc import SCParameters
from vlane.tables.sl2vl import SL2VLParameters
from vlane.tb.by_name import proofs, stimulus
from vlane.tb.machinery.native.stimulus import Qualify
from vlane.tb.machinery.proofs.properties import Instance


@dataclass(frozen=True, slots=True)
class Block:
    """Block of the catalogue.

    Parameters
    ----------
    name : str
        Name in commands and module paths.
    title : str
        Human-readable name.
    shape : type
        Class of an instance's parameters, each with a default.
    full_size : mapping
        Parameters of the largest instance.
    mutated : mapping
        Parameters of the instance for mutation testing.
    synthesised : tuple of mapping
        Parameters of the instances whose area is measured and whose netlists are simulated.
    """

    name: str
    title: str
    shape: type[Parameters]
    full_size: Mapping[str, Any]
    mutated: Mapping[str, Any]
    synthesised: tuple[Mapping[str, Any], ...] = ({},)

    @property
    def component(self) -> Callable[[Any], Any]:
        """Constructor of the hardware from parameters."""
        made: Callable[[Any], Any] = component(self.name)
        return made

    @property
    def qualify(self) -> Qualify:
        """Constructor of the stimulus that triggers every rule of an instance."""
        made: Qualify = stimulus(self.name).qualified
        return made

    @property
    def proofs(self) -> tuple[Instance, ...]:
        """Proven instances with their properties."""
        found: tuple[Instance, ...] = proofs(self.name).INSTANCES
        return found

    def defaults(self) -> dict[str, Any]:
        """Return all parameters with their defaults."""
        return self.shape.defaults()

    def parameters(self, given: list[str], base: Mapping[str, Any] | None = None) -> Parameters:
        """Return parameters from ``K=V`` words. Omitted parameters come from ``base`` or the defaults.

        Raises
        ------
        InputError
            If a word is not ``K=V``, a parameter is unknown, or a value is rejected.
        """
        return self.shape.of_words(given, base or {})

    def instance(self, name: str) -> Instance:
        """Return the proven instance of a name.

        Raises
        ------
        InputError
            If no proven instance has this name.
        """
        names = {each.name: each for each in self.proofs}
        if name not in names:
            raise unknown_word("--instance", names, name)
        return names[name]

    def make(self, parameters: Mapping[str, Any]) -> Any:
        """Return a component with checked parameters."""
        return self.component(self.shape(**parameters))


def _scheduler(each: Scheduler) -> Block:
    """Return the catalogue entry of a scheduler. Its modules are found by its name."""
    return Block(
        name=each.name,
        title=each.title,
        shape=each.parameters,
        full_size=each.full_size,
        mutated=each.mutated,
        synthesised=each.synthesised,
    )


BLOCKS = {
    block.name: block
    for block in (
        *map(_scheduler, SCHEDULERS.values()),
        Block(
            name="sl2vl",
            title="SL to VL mapping",
            shape=SL2VLParameters,
            full_size={"inputs": 36, "outputs": 36, "data_vls": 8},
            mutated={"inputs": 2, "outputs": 3, "data_vls": 7},
        ),
        Block(
            name="sc",
            title="Omni-Path's maps between SL, SC and VL",
            shape=SCParameters,
            full_size={"ports": 48, "data_vls": 8},
            mutated={"ports": 2, "data_vls": 8},
            synthesised=({"ports": 4},),
        ),
        Block(
            name="credit_ib",
            title="InfiniBand absolute credits",
            shape=CreditIBParameters,
            full_size={"data_vls": 15, "buffer_blocks": 2048, "watchdog_cycles": 600},
            mutated={"data_vls": 3, "buffer_blocks": 200, "fcp_blocks": 21, "fcp_period": 2500, "watchdog_cycles": 150},
        ),
        Block(
            name="credit_opa",
            title="Omni-Path sender-managed credits",
            shape=CreditOPAParameters,
            full_size={"vls": 16, "vcu": 0},
            mutated={"vls": 4, "vcu": 0},
            synthesised=({"vls": 4},),
        ),
        Block(
            name="cc_marker",
            title="InfiniBand congestion control: FECN marking",
            shape=CCMarkerParameters,
            full_size={"data_vls": 15, "maximum": 1024, "largest": 66, "measure_blocks": 36864, "data_bits": 512},
            mutated={
                "data_vls": 3,
                "maximum": 20,
                "largest": 5,
                "measure_blocks": 27,
                "busy_blocks": 20,
                "level_blocks": 37,
                "idle_blocks": 3,
            },
        ),
        Block(
            name="cc_source",
            title="InfiniBand congestion control: injection pacing",
            shape=CCSourceParameters,
            full_size={"flows": 256, "cct_entries": 1024},
            mutated={"flows": 8, "tick_cycles": 64},
        ),
        Block(
            name="pause",
            title="Ethernet PAUSE",
            shape=PauseParameters,
            full_size={"memory_bytes": 2**24 - 1, "high_bytes": 16_000_000, "low_bytes": 15_000_000},
            mutated={"memory_bytes": 4000, "high_bytes": 3000, "low_bytes": 2500, "refresh_cycles": 20},
        ),
        Block(
            name="ecm_cp",
            title="ECM congestion point",
            shape=ECMCPParameters,
            full_size={"queue_bytes": 2**24 - 1, "bcn_stop": True},
            mutated={
                "set_point_bytes": 4000,
                "sample_bytes": 16_384,
                "queue_bytes": 32_767,
                "max_bytes": 16_000,
                "bcn_stop": True,
                "stop_bytes": 24_000,
            },
        ),
        Block(
            name="ecm_rp",
            title="ECM and E2CM reaction point",
            shape=ECMRPParameters,
            full_size={"flows": 1024, "gain_of": "current"},
            mutated={"flows": 4, "stop_bits": 8, "gain_of": "current"},
        ),
        Block(
            name="e2cm_prober",
            title="E2CM prober",
            shape=E2CMProberParameters,
            full_size={"flows": 1024, "base": "given"},
            mutated={"flows": 4, "probe_bytes": 4096, "probed": "limited", "base": "given"},
        ),
        Block(
            name="vlbuffer",
            title="VL buffer",
            shape=VLBufferParameters,
            full_size={"vls": 8, "flits": 1792, "minimum": 66, "maximum": 400, "mtu_flits": 66},
            mutated={
                "vls": 2,
                "flits": 7,
                "minimum": 2,
                "maximum": 5,
                "mtu_flits": 2,
                "writers": 2,
                "readers": 2,
                "write_flits": 2,
                "read_flits": 2,
                "data_bits": 4,
            },
        ),
        Block(
            name="lft",
            title="LFT look-up",
            shape=LFTParameters,
            full_size={"lookups": 36, "ports": 36, "entries": 49152},
            mutated={"lookups": 2, "ports": 7, "entries": 12},
            synthesised=({"lookups": 1},),
        ),
        Block(
            name="opa_switch",
            title="Omni-Path switch",
            shape=OPASwitchParameters,
            full_size={"ports": 8, "data_vls": 8, "scheduler": IB_ARBITER, "lids": 64},
            mutated={
                "ports": 6,
                "data_vls": 2,
                "blocks": 12,
                "minimum": 4,
                "maximum": 8,
                "largest": 4,
                "central_blocks": 12,
                "central_minimum": 4,
                "central_maximum": 8,
                "lids": 16,
            },
            synthesised=(),
        ),
        Block(
            name="ib_switch",
            title="InfiniBand switch",
            shape=IBSwitchParameters,
            full_size={"ports": 8, "data_vls": 8, "scheduler": IB_ARBITER, "lids": 64},
            mutated={"ports": 3, "data_vls": 3, "blocks": 15, "minimum": 3, "maximum": 9, "largest": 3, "lids": 7},
            synthesised=(
                {
                    "ports": 4,
                    "data_vls": 2,
                    "blocks": 32,
                    "minimum": 16,
                    "maximum": 16,
                    "crossbar": "per_vl",
                    "allocation": "fifo",
                },
                {"ports": 4, "data_vls": 2, "blocks": 32, "maximum": 20},
            ),
        ),
    )
}
SYNTHESISED = tuple(block.name for block in BLOCKS.values() if block.synthesised)
"""Blocks whose area is measured and whose netlists are simulated."""


def find_block(name: str) -> Block:
    """Return a block by name.

    Raises
    ------
    InputError
        If no block has this name.
    """
    if name not in BLOCKS:
        raise unknown_word("BLOCK", BLOCKS, name)
    return BLOCKS[name]
