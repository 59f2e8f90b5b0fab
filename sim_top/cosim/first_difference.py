"""Search for the first differing signal of a failing cocotb run in the run's wave."""

from __future__ import annotations

import importlib
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def first_difference(wave: bytes, scope: str, found: Mapping[str, Any]) -> str:
    """Return one line with signal, cycle and both values of the first differing output.

    Parameters
    ----------
    wave : bytes
        VCD of the run.
    scope : str
        Instance whose ports are the outputs, such as ``top`` or ``top.instance``.
    found : mapping
        Report of the bench: ``cycle``, the ``time`` of the sampling clock edge, and golden's ``expected`` outputs.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.vcd"
        file.write_bytes(wave)
        read = wave_reader()(str(file))
    before = found["time"] - 1  # the bench samples outputs just before the clock edge
    names = {full.partition("[")[0].removeprefix("TOP."): full for full in read.signals}
    for name, value in found["expected"].items():
        shown = read[names[f"{scope}.{name}"]][before]
        if int(shown, 2) != value:
            return f"{scope}.{name} in cycle {found['cycle']} is {int(shown, 2)} in the wave, but {value} in golden"
    return f"cycle {found['cycle']}: the wave of the repeated run shows no difference"


def wave_reader() -> Any:
    """Return the VCD reader, and undo its import's side effect that broken pipes kill this process."""
    before = signal.getsignal(signal.SIGPIPE)
    found = importlib.import_module("vcdvcd").VCDVCD
    signal.signal(signal.SIGPIPE, before)
    return found
