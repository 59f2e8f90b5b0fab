"""Programs that are started: what they keep is in the user's cache, and nothing of where they start is loaded."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping

from vlane.isolation import guarded_variables
from vlane.paths import cache_base, cache_dir

__all__ = ["child_environment", "environment_of"]


def child_environment() -> dict[str, str]:
    """Return the environment of a program that is started.

    Tools of WebAssembly keep their machine code in our cache; Verilog is written by the yosys of the wheel, whatever
    else is installed.

    Raises
    ------
    InputError
        If there is no usable cache.
    """
    return {
        "AMARANTH_USE_YOSYS": "builtin",
        **os.environ,
        **guarded_variables(),
        "VLANE_CACHE": str(cache_base()),
        "XDG_CACHE_HOME": str(cache_dir("tools")),
    }


@contextlib.contextmanager
def environment_of(wanted: Mapping[str, str]) -> Iterator[None]:
    """Have these variables beside the others, for libraries that start programs by themselves."""
    kept = {name: os.environ.get(name) for name, value in wanted.items() if os.environ.get(name) != value}
    os.environ.update({name: wanted[name] for name in kept})
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
