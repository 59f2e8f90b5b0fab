"""The catalogue: every block by name, with its component, its parameters and its proofs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vlane.hdl.credit_ib import CreditIB
from vlane.hdl.credit_opa import CreditOPA
from vlane.hdl.drr import DRR
from vlane.hdl.dtable import DTable
from vlane.hdl.ib_switch import IBSwitch
from vlane.hdl.lft import LFT
from vlane.hdl.opa_switch import OPASwitch
from vlane.hdl.rr import RR
from vlane.hdl.sc import SC
from vlane.hdl.scfq import SCFQ
from vlane.hdl.sl2vl import SL2VL
from vlane.hdl.vlarb import VLArb
from vlane.hdl.vlbuffer import VLBuffer
from vlane.tb import (
    prove_credit_ib,
    prove_credit_opa,
    prove_drr,
    prove_dtable,
    prove_ib_switch,
    prove_lft,
    prove_opa_switch,
    prove_rr,
    prove_sc,
    prove_scfq,
    prove_sl2vl,
    prove_vlarb,
    prove_vlbuffer,
    stimulus_credit_ib,
    stimulus_credit_opa,
    stimulus_drr,
    stimulus_dtable,
    stimulus_ib_switch,
    stimulus_lft,
    stimulus_opa_switch,
    stimulus_rr,
    stimulus_sc,
    stimulus_scfq,
    stimulus_sl2vl,
    stimulus_vlarb,
    stimulus_vlbuffer,
)
from vlane.tb.stimulus import Qualify

from vlane.errors import InputError, unknown_word
from vlane.textfile import number

__all__ = ["BLOCKS", "SYNTHESISED", "Block", "find_block", "refused_parameter"]

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the catalogue.

    Parameters
    ----------
    name : str
        Its noun.
    title : str
        What people call it.
    component : type
        The hardware; its keyword arguments are the parameters, each with a default.
    full_size : mapping
        Parameters of the largest instance.
    mutated : mapping
        Parameters of the instance that mutants are made of.
    qualify : callable
        Makes the stimulus that reaches every rule of an instance.
    properties : callable
        Makes what is proven around a component.
    proven : tuple of mapping
        Parameters of the instances that are proven.
    synthesised : tuple of mapping
        Parameters of the instances whose area is measured and whose netlists are run.
    with_form : mapping of str to mapping
        Parameters that an instance of a form has unless others are given.
    """

    name: str
    title: str
    component: type[Any]
    full_size: Mapping[str, Any]
    mutated: Mapping[str, Any]
    qualify: Qualify
    properties: Callable[[Any], Any]
    proven: tuple[Mapping[str, Any], ...]
    synthesised: tuple[Mapping[str, Any], ...] = ({},)
    with_form: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def defaults(self) -> dict[str, Any]:
        """Return the parameters with their defaults."""
        return {p.name: p.default for p in inspect.signature(self.component).parameters.values()}

    def parameters(self, given: list[str], base: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return parameters for ``K=V`` words; what is not given comes from ``base`` or the defaults.

        Raises
        ------
        InputError
            If a word is no ``K=V``, names no parameter, or has a value the component refuses.
        """
        parameters = {**self.defaults(), **(base or {})}
        for word in given:
            name, equals, text = word.partition("=")
            if name not in parameters:
                raise unknown_word("--param", parameters, name)
            if not equals:
                raise InputError("--param", "K=V", word)
            parameters[name] = _value(name, text, type(parameters[name]))
        names = {word.partition("=")[0] for word in given}
        usual = self.with_form.get(parameters.get("form", ""), {})
        parameters |= {name: value for name, value in usual.items() if name not in names}
        try:
            self.component.check_parameters(**parameters)
        except InputError as error:
            raise refused_parameter(error, "--param ") from None
        return parameters

    def make(self, parameters: Mapping[str, Any]) -> Any:
        """Return a component with checked parameters."""
        return self.component(**parameters)


def refused_parameter(error: InputError, prefix: str) -> InputError:
    """Return what a component's ``check_parameters`` refuses with its field after a prefix."""
    return InputError(f"{prefix}{error.field}", error.must, error.got, meant=error.meant)


def _value(name: str, text: str, kind: type) -> Any:
    if kind is str:
        return text
    if kind is bool:
        if text.lower() not in _WORDS:
            raise InputError(f"--param {name}", "true or false", text)
        return _WORDS[text.lower()]
    value = number(text)
    if value is None:
        raise InputError(f"--param {name}", "a whole number of at most 19 digits", text)
    return value


_SCHEDULER = {"data_vls": 15, "requesters": 16, "vl15": True}
_MUTATED = {"data_vls": 4, "requesters": 3, "vl15": True}

BLOCKS = {
    block.name: block
    for block in (
        Block(
            name="vlarb",
            title="VL arbiter",
            component=VLArb,
            full_size={"data_vls": 15, "entries": 64, "vl15": True},
            mutated={"data_vls": 5, "entries": 8, "vl15": True},
            synthesised=({"data_vls": 15, "entries": 64, "form": "line_rate"}, {}),
            qualify=stimulus_vlarb.qualified,
            properties=prove_vlarb.properties_of,
            proven=prove_vlarb.INSTANCES,
        ),
        Block(
            name="dtable",
            title="Deficit Table",
            component=DTable,
            full_size={**_SCHEDULER, "entries": 64},
            mutated={**_MUTATED, "entries": 8, "keep_on_stall": True},
            synthesised=({"data_vls": 16, "entries": 64, "vl15": False, "form": "line_rate"}, {"entries": 32}),
            with_form={"line_rate": {"requesters": 0, "keep_on_stall": False}},
            qualify=stimulus_dtable.qualified,
            properties=prove_dtable.properties_of,
            proven=prove_dtable.INSTANCES,
        ),
        Block(
            name="drr",
            title="Deficit round robin",
            component=DRR,
            full_size=_SCHEDULER,
            mutated=_MUTATED,
            qualify=stimulus_drr.qualified,
            properties=prove_drr.DRRProperties,
            proven=prove_drr.INSTANCES,
        ),
        Block(
            name="scfq",
            title="Self-clocked fair queueing",
            component=SCFQ,
            full_size=_SCHEDULER,
            mutated=_MUTATED,
            qualify=stimulus_scfq.qualified,
            properties=prove_scfq.SCFQProperties,
            proven=prove_scfq.INSTANCES,
        ),
        Block(
            name="rr",
            title="Round robin",
            component=RR,
            full_size=_SCHEDULER,
            mutated=_MUTATED,
            qualify=stimulus_rr.qualified,
            properties=prove_rr.RRProperties,
            proven=prove_rr.INSTANCES,
        ),
        Block(
            name="sl2vl",
            title="SL to VL mapping",
            component=SL2VL,
            full_size={"inputs": 36, "outputs": 36, "data_vls": 8},
            mutated={"inputs": 2, "outputs": 3, "data_vls": 7},
            qualify=stimulus_sl2vl.qualified,
            properties=prove_sl2vl.SL2VLProperties,
            proven=prove_sl2vl.INSTANCES,
        ),
        Block(
            name="sc",
            title="Omni-Path's maps of levels, channels and lanes",
            component=SC,
            full_size={"ports": 48, "data_vls": 8},
            mutated={"ports": 2, "data_vls": 8},
            synthesised=({"ports": 4},),
            qualify=stimulus_sc.qualified,
            properties=prove_sc.SCProperties,
            proven=prove_sc.INSTANCES,
        ),
        Block(
            name="credit_ib",
            title="Absolute credits of InfiniBand",
            component=CreditIB,
            full_size={"data_vls": 15, "buffer_blocks": 2048, "watchdog_cycles": 600},
            mutated={"data_vls": 3, "buffer_blocks": 200, "fcp_blocks": 21, "fcp_period": 2500, "watchdog_cycles": 150},
            qualify=stimulus_credit_ib.qualified,
            properties=prove_credit_ib.CreditIBProperties,
            proven=prove_credit_ib.INSTANCES,
        ),
        Block(
            name="credit_opa",
            title="Sender-managed credits of Omni-Path",
            component=CreditOPA,
            full_size={"vls": 16, "vcu": 0},
            mutated={"vls": 4, "vcu": 0},
            synthesised=({"vls": 4},),
            qualify=stimulus_credit_opa.qualified,
            properties=prove_credit_opa.CreditOPAProperties,
            proven=prove_credit_opa.INSTANCES,
        ),
        Block(
            name="vlbuffer",
            title="VL buffer",
            component=VLBuffer,
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
            properties=prove_vlbuffer.VLBufferProperties,
            proven=prove_vlbuffer.INSTANCES,
        ),
        Block(
            name="lft",
            title="LFT look-up",
            component=LFT,
            full_size={"lookups": 36, "ports": 36, "entries": 49152},
            mutated={"lookups": 2, "ports": 7, "entries": 12},
            synthesised=({"lookups": 1},),
            qualify=stimulus_lft.qualified,
            properties=prove_lft.LFTProperties,
            proven=prove_lft.INSTANCES,
        ),
        Block(
            name="opa_switch",
            title="Omni-Path switch",
            component=OPASwitch,
            full_size={"ports": 8, "data_vls": 8, "scheduler": "vlarb", "lids": 64},
            mutated={
                "ports": 5,
                "data_vls": 2,
                "blocks": 10,
                "minimum": 2,
                "maximum": 8,
                "largest": 2,
                "central_blocks": 8,
                "central_minimum": 2,
                "central_maximum": 6,
                "lids": 8,
            },
            synthesised=(),
            qualify=stimulus_opa_switch.qualified,
            properties=prove_opa_switch.OPASwitchProperties,
            proven=prove_opa_switch.INSTANCES,
        ),
        Block(
            name="ib_switch",
            title="InfiniBand switch",
            component=IBSwitch,
            full_size={"ports": 8, "data_vls": 8, "scheduler": "vlarb", "lids": 64},
            mutated={"ports": 3, "data_vls": 3, "blocks": 12, "minimum": 2, "maximum": 8, "largest": 2, "lids": 7},
            synthesised=({"ports": 4, "data_vls": 2, "blocks": 32, "maximum": 20},),
            qualify=stimulus_ib_switch.qualified,
            properties=prove_ib_switch.properties_of,
            proven=prove_ib_switch.INSTANCES,
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
