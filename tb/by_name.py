"""Find the bench of a block by name: modules of the folder ``tb/FAMILY/NAME``.

``stimulus``
    ``qualified`` returns the stimulus that reaches every rule (``tb/machinery/native/stimulus.py``). A scheduler's
    module also has ``drawn_writes``, a random table for a switch's output; single-list schedulers have ``SCENARIOS``
    (``tb/schedulers/directed_schedulers.py``) for instances of ``SCENARIO_PARAMETERS``; schedulers with entries have
    ``saturating``, traffic that requests a decision in every cycle.
``crosses``
    ``crosses`` returns the crosses of an instance; ``EVENTS`` names the events.
``proofs``
    ``INSTANCES``: the proven instances with their properties.
``plants``
    ``PLANTS``: one-line bugs that a proof or the lockstep must detect.
``holes``
    ``HOLES``: code that the stimulus does not reach, with reasons. Optional.
``directed``
    ``STEPS``: cycles as pairs of inputs and expected outputs, written by hand. Schedulers have ``SCENARIOS`` instead.
``contract``, of the family
    ``contract`` returns the assumptions and guarantees of a component at its ports, or ``None``. Optional.
``bench``
    The cocotb bench of a block that needs more than the common one (``tb/machinery/cocotb_benches/bench.py``).
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from vlane.families import FAMILY_OF
from vlane.schedulers.registry import SCHEDULERS
from vlane.tb.machinery.native.hole import Hole, Untaken
from vlane.tb.machinery.plants.plant import Plant
from vlane.tb.machinery.proofs.contract import Contract


def module_name(name: str, part: str) -> str:
    """Return the full name of a module of a block's bench."""
    return f"vlane.tb.{FAMILY_OF[name]}.{name}.{part}"


def stimulus(name: str) -> Any:
    """Return the module of a block's stimulus."""
    return import_module(module_name(name, "stimulus"))


def crosses(name: str) -> Any:
    """Return the module that defines a block's crosses."""
    return import_module(module_name(name, "crosses"))


def proofs(name: str) -> Any:
    """Return the module of a block's proofs."""
    return import_module(module_name(name, "proofs"))


def plants(name: str) -> tuple[Plant, ...]:
    """Return the planted bugs of a block."""
    found: tuple[Plant, ...] = import_module(module_name(name, "plants")).PLANTS
    return found


def judged_holes(name: str) -> tuple[Hole | Untaken, ...]:
    """Return the judged coverage holes of a block, or ``()`` if it has none."""
    module = module_name(name, "holes")
    if find_spec(module) is None:
        return ()
    found: tuple[Hole | Untaken, ...] = import_module(module).HOLES
    return found


def contract(name: str, component: Any) -> Contract | None:
    """Return the contract of a component at its ports, or ``None`` if the block or the form has none."""
    module = f"vlane.tb.{FAMILY_OF[name]}.contract"
    found: Contract | None = import_module(module).contract(component) if find_spec(module) else None
    return found


def directed_steps(name: str) -> list[tuple[dict[str, int], dict[str, int]]]:
    """Return the directed cycles of a block, empty if the block has none."""
    module = module_name(name, "directed")
    return list(getattr(import_module(module), "STEPS", ())) if find_spec(module) else []


def bench(name: str) -> str:
    """Return the full name of the module with a block's cocotb bench."""
    own = module_name(name, "bench")
    return own if find_spec(own) else "vlane.tb.machinery.cocotb_benches.bench"


def directed_schedulers() -> tuple[str, ...]:
    """Return the names of the schedulers with directed scenarios in the common notation."""
    return tuple(name for name in SCHEDULERS if hasattr(stimulus(name), "SCENARIOS"))
