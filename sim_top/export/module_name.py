"""Valid module names: plain identifiers that are also valid in file names, C and Python."""

from __future__ import annotations

import keyword
import re

from vlane.errors import InputError
from vlane.sim_top.systemverilog.keywords import RESERVED

_LONGEST = 64
_PLAIN = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{0,{_LONGEST - 1}}}", re.ASCII)
_MUST = f"a letter, then letters, digits and underscores, at most {_LONGEST} in all"


def check_module_name(option: str, name: str) -> str:
    """Return a module's name, checked.

    Raises
    ------
    InputError
        If it is not a plain identifier, or is reserved in SystemVerilog, VHDL, C++ or Python.
    """
    if not _PLAIN.fullmatch(name):
        raise InputError(option, _MUST, name or "empty")
    if name in RESERVED or keyword.iskeyword(name):
        raise InputError(option, "an unreserved word", name, problem=f": {name} is a reserved word")
    return name
