"""Golden schedulers by name and form, for all entries of the registry (``vlane/schedulers/registry.py``).

The module of a form is ``NAME_FORM``, or ``NAME`` if there is none. All modules have the same interface:

- ``State`` is the state type, ``make_state`` returns a state for the parameters of the component
- ``reset``, ``step`` and ``program`` (program-port writes) change the state in place
- ``RULES`` are the rules that a step counts, ``RULE_COUNT`` is their number
- ``LOOKS_BEHIND`` and ``REST_CYCLES`` determine when a step can be skipped
- ``load_ahead`` (optional) prefetches a port's tables
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from vlane.golden.schedulers.plugged import plugin_module
from vlane.plugins import found
from vlane.schedulers.registry import SCHEDULERS

_FAMILY = "vlane.golden.schedulers"


def _module(name: str, form: str) -> Any:
    own = f"{_FAMILY}.{name}_{form}"
    return import_module(own if form and find_spec(own) else f"{_FAMILY}.{name}")


FORMS = {(each.name, form): _module(each.name, form) for each in SCHEDULERS.values() for form in each.forms or ("",)}
"""Module of each (scheduler, form); a scheduler's first form is its default."""

MODULES = tuple({id(module): module for module in FORMS.values()}.values())
"""Distinct modules."""


def module_of(name: str, form: str = "") -> Any:
    """Return the module of a scheduler, built in or from a plug-in.

    Form "" is the default form.

    Raises
    ------
    KeyError
        If the scheduler is unknown or has no such form.
    """
    plugin = found("scheduler", name)
    if plugin is not None:
        return plugin_module(plugin)
    forms = SCHEDULERS[name].forms
    return FORMS[name, form or (forms[0] if forms else "")]
