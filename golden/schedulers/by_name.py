"""The golden schedulers by name and form, those of the registry (``vlane/schedulers/registry.py``).

The module of a form is ``NAME_FORM`` beside this one, or ``NAME`` if there is none. Every module has the same names.
``State`` is its state, ``make_state`` returns it for the parameters of the component, ``reset`` and ``step`` change it
in place, ``program`` writes what the program port can. ``RULES`` are the rules that a step counts, ``RULE_COUNT`` their
number. ``LOOKS_BEHIND`` and ``REST_CYCLES`` tell when a step may be left out. ``load_ahead``, which those with tables
may have, has those of a port loaded.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from vlane.golden.schedulers.plugged import plugged_module
from vlane.plugins import found
from vlane.schedulers.registry import SCHEDULERS

_FAMILY = "vlane.golden.schedulers"


def _module(name: str, form: str) -> Any:
    own = f"{_FAMILY}.{name}_{form}"
    return import_module(own if form and find_spec(own) else f"{_FAMILY}.{name}")


FORMS = {(each.name, form): _module(each.name, form) for each in SCHEDULERS.values() for form in each.forms or ("",)}
"""Module of each scheduler and form; a scheduler's first form is its default."""

MODULES = tuple({id(module): module for module in FORMS.values()}.values())
"""Each module once."""


def module_of(name: str, form: str = "") -> Any:
    """Return the module of a scheduler, a plug-in's too; form "" is its default one.

    Raises
    ------
    KeyError
        If the scheduler is unknown or has no such form.
    """
    plugin = found("scheduler", name)
    if plugin is not None:
        return plugged_module(plugin)
    forms = SCHEDULERS[name].forms
    return FORMS[name, form or (forms[0] if forms else "")]
