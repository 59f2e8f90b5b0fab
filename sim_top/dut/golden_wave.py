"""Waves of a foreign design with golden's signals, and the files that open them in GTKWave and Surfer."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vlane.documents.files import write_whole
from vlane.errors import InputError
from vlane.tb.machinery.native.children import child_environment

NS_PER_CYCLE = 10
"""Length of a cycle in a wave."""
WAVE_BEFORE, WAVE_AFTER = 200, 50
"""Numbers of cycles of a wave before and after a difference."""
WAVE_FIRST = 2000
"""Number of cycles of a wave without a difference."""
_SCOPE = "golden"
_VAR = re.compile(r"\$var (?:wire|reg|logic) +(\d+) (\S+) (\S+)( \[[\d:]+\])? \$end")
_SECONDS = 600


@dataclass(frozen=True)
class Track:
    """Signal of golden in a wave.

    Parameters
    ----------
    name : str
        Name.
    bits : int
        Width; 0 for text.
    values : list of str
        Value in each cycle of the wave, in binary or as text.
    """

    name: str
    bits: int
    values: list[str]


def window(cycle: int | None, cycles: int) -> tuple[int, int]:
    """Return the first and the last cycle of a wave around a difference, or of a wave without a difference."""
    if cycle is None:
        return 0, min(WAVE_FIRST, cycles) - 1
    return max(0, cycle - WAVE_BEFORE), min(cycle + WAVE_AFTER, cycles - 1)


def annotated(wave: str, tracks: Sequence[Track], first: int) -> str:
    """Return a VCD with golden's signals, in nanoseconds.

    Parameters
    ----------
    wave : str
        VCD with inputs and outputs of cycle n at time 2 n.
    tracks : sequence of Track
        Signals to add.
    first : int
        Cycle of the first value of each track.
    """
    return "".join(f"{line}\n" for line in _annotated_lines(wave, tracks, first))


def _annotated_lines(wave: str, tracks: Sequence[Track], first: int) -> Iterator[str]:
    for line in wave.splitlines():
        if line.startswith("$timescale"):
            yield "$timescale 1ns $end"
        elif line.startswith("$enddefinitions"):
            yield f"$scope module {_SCOPE} $end"
            for number, track in enumerate(tracks):
                kind, size = (
                    ("wire", f" [{track.bits - 1}:0]" if track.bits > 1 else "") if track.bits else ("string", "")
                )
                yield f"$var {kind} {track.bits or 1} {_SCOPE}{number} {track.name}{size} $end"
            yield "$upscope $end"
            yield line
        elif line.startswith("#"):
            half = int(line[1:])
            yield f"#{half * NS_PER_CYCLE // 2}"
            if half % 2 == 0:
                yield from _changes(tracks, half // 2 - first)
        else:
            yield line


def _changes(tracks: Sequence[Track], at: int) -> Iterator[str]:
    for number, track in enumerate(tracks):
        if not 0 <= at < len(track.values) or (at and track.values[at] == track.values[at - 1]):
            continue
        value = track.values[at]
        said = f"s{value.replace(' ', '_')} " if not track.bits else value if track.bits == 1 else f"b{value} "
        yield f"{said}{_SCOPE}{number}"


def write_waves(file: Path, wave: str, names: Sequence[str], at: int | None) -> Path:
    """Write a wave and the files that open it, and return the name of the wave.

    Parameters
    ----------
    file : Path
        Name of the wave; ``.fst`` needs ``vcd2fst``, without which the name ends in ``.vcd``.
    wave : str
        VCD.
    names : sequence of str
        Ports of the design to show.
    at : int or None
        Cycle of the difference.

    Raises
    ------
    InputError
        If a file cannot be written; names ``--waves``.
    """
    converter = shutil.which("vcd2fst", path=child_environment()["PATH"]) if file.suffix == ".fst" else None
    if file.suffix == ".fst" and converter is None:
        file = file.with_suffix(".vcd")
    if converter is None:
        write_whole(file, wave.encode(), option="--waves")
    else:
        write_whole(file, _as_fst(converter, wave), option="--waves")
    shown = _shown_names(wave, names)
    time = (at or 0) * NS_PER_CYCLE
    write_whole(Path(f"{file}.gtkw"), _gtkwave(file, shown, time).encode(), option="--waves")
    write_whole(Path(f"{file}.surfer"), _surfer(shown, time).encode(), option="--waves")
    return file


def _as_fst(converter: str, wave: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "wave.vcd", Path(folder) / "wave.fst"
        source.write_text(wave)
        done = subprocess.run(
            [converter, str(source), str(made)], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
        if done.returncode or not made.is_file():
            problem = f": vcd2fst failed: {done.stderr.strip()[-200:]}"
            raise InputError("--waves", "a name that ends in .vcd", "another name", problem=problem)
        return made.read_bytes()


def _shown_names(wave: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return path and range of the design's ports and of golden's signals in a VCD."""
    scopes: list[str] = []
    ports: dict[str, tuple[str, str]] = {}
    golden: list[tuple[str, str]] = []
    for line in wave.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "$scope":
            scopes.append(words[2])
        elif words[0] == "$upscope":
            scopes.pop()
        elif words[0] == "$enddefinitions":
            break
        elif words[0] == "$var":
            name, size = words[4], words[5] if words[5].startswith("[") else ""
            path = ".".join([*scopes, name])
            if scopes == [_SCOPE]:
                golden.append((path, size))
            elif name in names and name not in ports:
                ports[name] = (path, size)
    return [*(ports[name] for name in names if name in ports), ("", _SCOPE), *golden]


def _gtkwave(file: Path, shown: Sequence[tuple[str, str]], time: int) -> str:
    marks = " ".join(["-1"] * 26)
    lines = [
        f'[dumpfile] "{file.resolve()}"',
        f"[timestart] {max(0, time - 20 * NS_PER_CYCLE)}",
        f"*-6.0 {time} {marks}",
    ]
    lines += [f"{path}{size}" if path else f"-{size}" for path, size in shown]
    return "\n".join(lines) + "\n"


def _surfer(shown: Sequence[tuple[str, str]], time: int) -> str:
    lines = [f"variable_add {path}" if path else f"divider_add {size}" for path, size in shown]
    return "\n".join([*lines, f"cursor_set {time}", "goto_cursor"]) + "\n"
