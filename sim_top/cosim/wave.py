"""Waves: writing the first cycles of a run as VCD, and reading a VCD as rows for golden."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import numpy as np

from vlane.documents.files import write_whole
from vlane.sim_top.cosim.cosim import Job
from vlane.sim_top.cosim.first_difference import wave_reader
from vlane.tb.machinery.native.model import CompiledModel, compile_model
from vlane.tb.machinery.native.stimulus import Stimulus
from vlane.tb.machinery.native.wrapper import DRIVER


def write_wave(job: Job, file: Path, *, cycles: int = 2000) -> int:
    """Run the first cycles of a job through a traced model and write every signal, and return the number of cycles.

    Inputs and outputs of cycle ``n`` are settled at time ``2 n``, when the clock rises (except at time 0).

    Raises
    ------
    InputError
        If the file cannot be written; names ``--waves``.
    """
    model = compile_model(job.block.make(job.parameters), job.block.name, traced=True)
    stimulus = job.make(model.inputs, model.outputs)
    with tempfile.TemporaryDirectory() as folder:
        done = _trace(model, stimulus, Path(folder) / "wave.vcd", cycles)
        write_whole(file, (Path(folder) / "wave.vcd").read_bytes(), option="--waves")
    return done


def _trace(model: CompiledModel, stimulus: Stimulus, file: Path, cycles: int) -> int:
    done = 0
    with model:
        model.restart(wave=file)
        while done < cycles:
            rows = np.zeros((cycles - done, model.input_words), np.uint64)
            count = stimulus.fill(rows, np.zeros((cycles - done, model.output_words), np.uint64))
            if not count:
                break
            model.run(rows[:count])
            done += count
    return done


def read_wave(file: Path, ports: tuple[str, ...], top: str) -> dict[str, list[int]]:
    """Return the values of the named ports in every cycle of a wave from ``write_wave``.

    Raises
    ------
    KeyError
        If the wave lacks a port.
    """
    wave = wave_reader()(str(file))
    inside = [name for name in wave.signals if name.startswith(f"TOP.{DRIVER}.{top}.") and name.count(".") == 3]
    cycles = wave.endtime // 2 + 1
    values = {}
    for port in ports:
        name = next((n for n in inside if re.fullmatch(rf"{port}(\[\d+:0\])?", n.rsplit(".", 1)[-1])), None)
        if name is None:
            raise KeyError(port)
        changes = wave[name].tv
        seen = [0] * cycles
        for (time, value), following in zip(changes, [*changes[1:], (2 * cycles, "")], strict=True):
            first, last = time // 2, following[0] // 2
            seen[first:last] = [int(value, 2)] * (last - first)
        values[port] = seen
    return values
