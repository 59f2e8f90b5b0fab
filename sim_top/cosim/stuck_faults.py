"""Stuck-at coverage of the proofs of a block: which instance refutes each fault of each proven form."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vlane.sim_top.blocks import Block
from vlane.tb.machinery.native.model import component_ports, to_rtlil
from vlane.tb.machinery.proofs import stuck
from vlane.tb.machinery.proofs.properties import Instance
from vlane.tb.machinery.proofs.prove import cover_faults, prove_design
from vlane.tb.machinery.proofs.stuck import Fault, FaultyDesign

_LIST = Path(stuck.__file__).with_name("stuck.toml")


@dataclass(frozen=True, slots=True)
class StuckFault:
    """Result of a fault.

    Parameters
    ----------
    form : str
        Class of the proven component, which may be a part of the block.
    fault : Fault
        The fault.
    instance : str
        First instance whose proof does not hold with the fault; empty if every proof holds.
    how : str
        ``trace`` after a counterexample from reset, ``induction`` if only the induction fails; empty if no proof fails.
    """

    form: str
    fault: Fault
    instance: str
    how: str


def listed_faults() -> dict[tuple[str, str, Fault], str]:
    """Return the reason of each fault that no proof refutes, by block, form and fault.

    Raises
    ------
    ValueError
        If a row lacks a field or has no reason.
    """
    rows = tomllib.loads(_LIST.read_text(encoding="utf-8"))["fault"]
    fields = {"block", "form", "module", "signal", "value", "reason"}
    for row in rows:
        if row.keys() != fields or not row["reason"].endswith("."):
            raise ValueError(f"stuck.toml: each fault has {', '.join(sorted(fields))}; the reason is a sentence: {row}")
    return {
        (row["block"], row["form"], Fault(row["module"], row["signal"], row["value"])): row["reason"] for row in rows
    }


def stuck_faults(block: Block, instances: Sequence[Instance], *, timeout_seconds: int) -> Iterator[StuckFault]:
    """Yield the result of each fault, once for each proven form. Instances of parts are tried first.

    A fault that no instance of its form refutes has the result of the part, if the part refutes the fault.

    Parameters
    ----------
    instances : sequence of Instance
        Instances that are tried, in order, until a proof does not hold.
    timeout_seconds : int
        Time after which a proof is given up; it refutes nothing.
    """
    parts: dict[tuple[str, str, int], StuckFault] = {}
    forms: dict[str, dict[Fault, StuckFault]] = {}
    for instance in sorted(instances, key=lambda each: each.part is None):
        component = instance.part(**instance.parameters) if instance.part else block.make(instance.parameters)
        form = forms.setdefault(type(component).__name__, {})
        for fault, how in _of_instance(block, instance, component, form, parts, timeout_seconds):
            name = type(component).__name__
            form[fault] = StuckFault(name, fault, instance.name if how else "", how)
            if instance.part and how and fault.module:
                parts[_place(fault)] = form[fault]
    for form in forms.values():
        for fault, result in form.items():
            yield result if result.how else _elsewhere(result, parts.get(_place(fault)))


def _elsewhere(result: StuckFault, part: StuckFault | None) -> StuckFault:
    return StuckFault(result.form, result.fault, part.instance, part.how) if part else result


def _place(fault: Fault) -> tuple[str, str, int]:
    """Return the module, the name and the value of a fault, wherever the module is."""
    return fault.module, fault.signal.rpartition(".")[2], fault.value


def _of_instance(
    block: Block,
    instance: Instance,
    component: object,
    known: dict[Fault, StuckFault],
    parts: dict[tuple[str, str, int], StuckFault],
    timeout_seconds: int,
) -> Iterator[tuple[Fault, str]]:
    """Yield the result of an instance's proof for each fault that no instance has refuted."""
    properties = instance.make(block.make)
    design = to_rtlil(properties, "top", ports=properties.ports())
    outputs = {port.name for port in component_ports(component) if not port.is_input}
    faulty, name = FaultyDesign(design, outputs), f"{block.name}-{instance.name}-stuck"
    numbers: dict[Fault, list[int]] = {}
    for number, fault in enumerate(faulty.faults, 1):
        numbers.setdefault(fault, []).append(number)
    tried = {
        fault: each
        for fault, each in numbers.items()
        if not (fault in known and known[fault].how) and not (instance.part is None and _place(fault) in parts)
    }
    wanted = [number for each in tried.values() for number in each]
    reached = (
        cover_faults(properties, faulty.watched(wanted), name, timeout_seconds=timeout_seconds) if wanted else set()
    )
    for fault, each in numbers.items():
        if fault not in tried:
            if fault not in known:
                yield fault, ""
            continue
        left = [number for number in each if number not in reached]
        holds = any(
            prove_design(properties, faulty.stuck(number), name, timeout_seconds=timeout_seconds).verdict
            not in {"FAIL", "UNKNOWN"}
            for number in left
        )
        yield fault, "" if holds else "induction" if left else "trace"
