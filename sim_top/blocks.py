"""The catalogue: every block by name, with its component, its parameters and its proofs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vlane.hdl.buffers.vlbuffer import VLBuffer
from vlane.hdl.congestion.cc_marker import CCMarker
from vlane.hdl.congestion.cc_source import CCSource
from vlane.hdl.credits.credit_ib import CreditIB
from vlane.hdl.credits.credit_opa import CreditOPA
from vlane.hdl.ethernet.e2cm_prober import E2CMProber
from vlane.hdl.ethernet.ecm_cp import ECMCP
from vlane.hdl.ethernet.ecm_rp import ECMRP
from vlane.hdl.ethernet.pause import Pause
from vlane.hdl.schedulers.by_name import component
from vlane.hdl.switches.ib_switch import ib_switch
from vlane.hdl.switches.opa_switch import OPASwitch
from vlane.hdl.tables.lft import LFT
from vlane.hdl.tables.sc import SC
from vlane.hdl.tables.sl2vl import SL2VL
from vlane.tb.buffers import stimulus_vlbuffer
from vlane.tb.congestion import stimulus_cc_marker, stimulus_cc_source
from vlane.tb.credits import stimulus_credit_ib, stimulus_credit_opa
from vlane.tb.ethernet import stimulus_e2cm_prober, stimulus_ecm_cp, stimulus_ecm_rp, stimulus_pause
from vlane.tb.native.stimulus import Qualify
from vlane.tb.proofs import (
    prove_cc_marker,
    prove_cc_source,
    prove_credit_ib,
    prove_credit_opa,
    prove_e2cm_prober,
    prove_ecm_cp,
    prove_ecm_rp,
    prove_ib_switch,
    prove_lft,
    prove_opa_switch,
    prove_pause,
    prove_sc,
    prove_sl2vl,
    prove_vlbuffer,
)
from vlane.tb.proofs.by_name import proofs
from vlane.tb.proofs.properties import Instance
from vlane.tb.schedulers.by_name import stimulus
from vlane.tb.switches import stimulus_ib_switch, stimulus_opa_switch
from vlane.tb.tables import stimulus_lft, stimulus_sc, stimulus_sl2vl

from vlane.cc_marker import CCMarkerParameters
from vlane.cc_source import CCSourceParameters
from vlane.credit_ib import CreditIBParameters
from vlane.e2cm_prober import E2CMProberParameters
from vlane.ecm_cp import ECMCPParameters
from vlane.ecm_rp import ECMRPParameters
from vlane.errors import unknown_word
from vlane.ib_switch import IBSwitchParameters
from vlane.lft import LFTParameters
from vlane.opa_credit import CreditOPAParameters
from vlane.opa_switch import OPASwitchParameters
from vlane.parameters import Parameters
from vlane.pause import PauseParameters
from vlane.sc import SCParameters
from vlane.schedulers import IB_ARBITER, SCHEDULERS, Scheduler
from vlane.sl2vl import SL2VLParameters
from vlane.vlbuffer import VLBufferParameters

__all__ = ["BLOCKS", "SYNTHESISED", "Block", "find_block"]


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the catalogue.

    Parameters
    ----------
    name : str
        Its noun.
    title : str
        What people call it.
    component : callable
        Makes the hardware of its parameters.
    shape : type
        Parameters of an instance, each with a default.
    full_size : mapping
        Parameters of the largest instance.
    mutated : mapping
        Parameters of the instance that mutants are made of.
    qualify : callable
        Makes the stimulus that reaches every rule of an instance.
    proofs : tuple of Instance
        What is proven, around which instances.
    synthesised : tuple of mapping
        Parameters of the instances whose area is measured and whose netlists are run.
    """

    name: str
    title: str
    component: Callable[[Any], Any]
    shape: type[Parameters]
    full_size: Mapping[str, Any]
    mutated: Mapping[str, Any]
    qualify: Qualify
    proofs: tuple[Instance, ...]
    synthesised: tuple[Mapping[str, Any], ...] = ({},)

    def defaults(self) -> dict[str, Any]:
        """Return the parameters with their defaults."""
        return self.shape.defaults()

    def parameters(self, given: list[str], base: Mapping[str, Any] | None = None) -> Parameters:
        """Return parameters for ``K=V`` words; what is not given comes from ``base`` or the defaults.

        Raises
        ------
        InputError
            If a word is no ``K=V``, names no parameter, or has a value that is refused.
        """
        return self.shape.of_words(given, base or {})

    def instance(self, name: str) -> Instance:
        """Return what is proven of the instance of that name.

        Raises
        ------
        InputError
            If there is none.
        """
        names = {each.name: each for each in self.proofs}
        if name not in names:
            raise unknown_word("--instance", names, name)
        return names[name]

    def make(self, parameters: Mapping[str, Any]) -> Any:
        """Return a component with checked parameters."""
        return self.component(self.shape(**parameters))


def _scheduler(each: Scheduler) -> Block:
    """Return the entry of a scheduler: its modules are found by its name."""
    return Block(
        name=each.name,
        title=each.title,
        component=component(each.name),
        shape=each.parameters,
        full_size=each.full_size,
        mutated=each.mutated,
        qualify=stimulus(each.name).qualified,
        proofs=proofs(each.name).INSTANCES,
        synthesised=each.synthesised,
    )


BLOCKS = {
    block.name: block
    for block in (
        *map(_scheduler, SCHEDULERS.values()),
        Block(
            name="sl2vl",
            title="SL to VL mapping",
            component=SL2VL,
            shape=SL2VLParameters,
            full_size={"inputs": 36, "outputs": 36, "data_vls": 8},
            mutated={"inputs": 2, "outputs": 3, "data_vls": 7},
            qualify=stimulus_sl2vl.qualified,
            proofs=prove_sl2vl.INSTANCES,
        ),
        Block(
            name="sc",
            title="Omni-Path's maps of levels, channels and lanes",
            component=SC,
            shape=SCParameters,
            full_size={"ports": 48, "data_vls": 8},
            mutated={"ports": 2, "data_vls": 8},
            synthesised=({"ports": 4},),
            qualify=stimulus_sc.qualified,
            proofs=prove_sc.INSTANCES,
        ),
        Block(
            name="credit_ib",
            title="Absolute credits of InfiniBand",
            component=CreditIB,
            shape=CreditIBParameters,
            full_size={"data_vls": 15, "buffer_blocks": 2048, "watchdog_cycles": 600},
            mutated={"data_vls": 3, "buffer_blocks": 200, "fcp_blocks": 21, "fcp_period": 2500, "watchdog_cycles": 150},
            qualify=stimulus_credit_ib.qualified,
            proofs=prove_credit_ib.INSTANCES,
        ),
        Block(
            name="credit_opa",
            title="Sender-managed credits of Omni-Path",
            component=CreditOPA,
            shape=CreditOPAParameters,
            full_size={"vls": 16, "vcu": 0},
            mutated={"vls": 4, "vcu": 0},
            synthesised=({"vls": 4},),
            qualify=stimulus_credit_opa.qualified,
            proofs=prove_credit_opa.INSTANCES,
        ),
        Block(
            name="cc_marker",
            title="Marking of InfiniBand's congestion control",
            component=CCMarker,
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
            qualify=stimulus_cc_marker.qualified,
            proofs=prove_cc_marker.INSTANCES,
        ),
        Block(
            name="cc_source",
            title="Pacing of InfiniBand's congestion control",
            component=CCSource,
            shape=CCSourceParameters,
            full_size={"flows": 256, "cct_entries": 1024},
            mutated={"flows": 8, "tick_cycles": 64},
            qualify=stimulus_cc_source.qualified,
            proofs=prove_cc_source.INSTANCES,
        ),
        Block(
            name="pause",
            title="PAUSE of Ethernet",
            component=Pause,
            shape=PauseParameters,
            full_size={"memory_bytes": 2**24 - 1, "high_bytes": 16_000_000, "low_bytes": 15_000_000},
            mutated={"memory_bytes": 4000, "high_bytes": 3000, "low_bytes": 2500, "refresh_cycles": 20},
            qualify=stimulus_pause.qualified,
            proofs=prove_pause.INSTANCES,
        ),
        Block(
            name="ecm_cp",
            title="Congestion point of ECM",
            component=ECMCP,
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
            qualify=stimulus_ecm_cp.qualified,
            proofs=prove_ecm_cp.INSTANCES,
        ),
        Block(
            name="ecm_rp",
            title="Reaction point of ECM and E2CM",
            component=ECMRP,
            shape=ECMRPParameters,
            full_size={"flows": 1024, "gain_of": "current"},
            mutated={"flows": 4, "stop_bits": 8, "gain_of": "current"},
            qualify=stimulus_ecm_rp.qualified,
            proofs=prove_ecm_rp.INSTANCES,
        ),
        Block(
            name="e2cm_prober",
            title="Prober of E2CM",
            component=E2CMProber,
            shape=E2CMProberParameters,
            full_size={"flows": 1024, "base": "given"},
            mutated={"flows": 4, "probe_bytes": 4096, "probed": "limited", "base": "given"},
            qualify=stimulus_e2cm_prober.qualified,
            proofs=prove_e2cm_prober.INSTANCES,
        ),
        Block(
            name="vlbuffer",
            title="VL buffer",
            component=VLBuffer,
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
            qualify=stimulus_vlbuffer.qualified,
            proofs=prove_vlbuffer.INSTANCES,
        ),
        Block(
            name="lft",
            title="LFT look-up",
            component=LFT,
            shape=LFTParameters,
            full_size={"lookups": 36, "ports": 36, "entries": 49152},
            mutated={"lookups": 2, "ports": 7, "entries": 12},
            synthesised=({"lookups": 1},),
            qualify=stimulus_lft.qualified,
            proofs=prove_lft.INSTANCES,
        ),
        Block(
            name="opa_switch",
            title="Omni-Path switch",
            component=OPASwitch,
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
            qualify=stimulus_opa_switch.qualified,
            proofs=prove_opa_switch.INSTANCES,
        ),
        Block(
            name="ib_switch",
            title="InfiniBand switch",
            component=ib_switch,
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
            qualify=stimulus_ib_switch.qualified,
            proofs=prove_ib_switch.INSTANCES,
        ),
    )
}
SYNTHESISED = tuple(block.name for block in BLOCKS.values() if block.synthesised)
"""Blocks whose area is measured and whose netlists are run."""


def find_block(name: str) -> Block:
    """Return a block by name.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in BLOCKS:
        raise unknown_word("BLOCK", BLOCKS, name)
    return BLOCKS[name]
