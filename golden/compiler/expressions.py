"""Translation of expressions: each becomes a ``Value``, C++ code with its type."""

from __future__ import annotations

from vlane.golden.compiler.calls import Calls
from vlane.golden.compiler.places import Places


class Expressions(Places, Calls):
    """Translation of expressions: places, operators and calls."""
