"""The first signal of a failing cocotb run that differs from golden, read from the run's wave."""

from __future__ import annotations

import importlib
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def first_difference(wave: bytes, scope: str, found: Mapping[str, Any]) -> str:
    """Return signal, cycle, and both values of the first output that differs, as a line for people.

    Parameters
    ----------
    wave : bytes
        VCD of the run.
    scope : str
        Instance whose ports are the outputs, as ``top`` or ``top.instance``.
    found : mapping
        What the bench told: ``cycle``, the ``time`` of the clock edge at which it read, what golden ``expected``.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.vcd"
        file.write_bytes(wave)
        read = wave_reader()(str(file))
    before = found["time"] - 1  # outputs are those before the clock edge at which the bench read them
    names = {full.partition("[")[0].removeprefix("TOP."): full for full in read.signals}
    for name, value in found["expected"].items():
        shown = read[names[f"{scope}.{name}"]][before]
        if int(shown, 2) != value:
            return f"{scope}.{name} in cycle {found['cycle']} is {int(shown, 2)} in the wave, golden says {value}"
    return f"cycle {found['cycle']}: the wave of the repeated run shows no difference"


def wave_reader() -> Any:
    """Return what reads a VCD; when it is imported, it has this process killed by whatever pipe breaks."""
    before = signal.getsignal(signal.SIGPIPE)
    found = importlib.import_module("vcdvcd").VCDVCD
    signal.signal(signal.SIGPIPE, before)
    return found
