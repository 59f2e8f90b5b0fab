"""Environment of child programs, which keep files in the user's cache and load nothing from their working directory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping

from vlane.isolation import guarded_variables
from vlane.paths import cache_base, cache_dir


def child_environment() -> dict[str, str]:
    """Return the environment of a child program.

    WebAssembly tools keep their machine code in vlane's cache. Verilog is written by the yosys of the wheel, whatever
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
def extended_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set additional environment variables temporarily, for libraries that start programs themselves."""
    kept = {name: os.environ.get(name) for name, value in variables.items() if os.environ.get(name) != value}
    os.environ.update({name: variables[name] for name in kept})
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
