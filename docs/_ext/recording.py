"""Record a terminal session as an animated SVG picture for the first screen of README.

    python docs/_ext/recording.py [--out FILE] [--check]

Each command of ``COMMANDS`` runs in the root of the checkout, and its standard output becomes one scene. The session
repeats for ever; without animation, as in print, the first scene is shown whole. Speeds depend on the machine and are
replaced by ``...``, so equal sources give equal pictures. ``--check`` writes nothing and exits with 1 if the picture in
the repository differs.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

__all__ = ["COMMANDS", "PICTURE", "Scene", "draw", "record"]

ROOT = Path(__file__).resolve().parent.parent.parent
PICTURE = ROOT / "docs" / "img" / "terminal.svg"
COMMANDS = (
    "vlane fabric check tests/data/irregular_s1",
    "vlane cosim vlarb --fabric tests/data/irregular_s1",
    "vlane cosim network sim_top/configs/fabric_rtl.toml --rtl 3",
)
COLUMNS = 96
"""Width of the terminal in characters."""
_ADVANCE, _LEADING, _MARGIN, _BAR = 8.0, 16, 16, 30
"""Width of a character, height of a line, margin and height of the title bar, in pixels."""
_PROMPT_SECONDS, _LINE_SECONDS, _READING_SECONDS = 1.2, 0.06, 5.0
"""Time from a command to its output, from line to line, and from the last line to the next scene."""


@dataclass(frozen=True)
class Scene:
    """A command and its output.

    Parameters
    ----------
    command : str
        Command line as a user types it.
    lines : tuple of str
        Output, wrapped at words to ``COLUMNS``.
    """

    command: str
    lines: tuple[str, ...]


def record(command: str) -> Scene:
    """Run a command in the root of the checkout and return its scene.

    Raises
    ------
    SystemExit
        The command failed.
    """
    words = [sys.executable, "-m", *command.split()]
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "1", "PYTHONUTF8": "1"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command}: exit status {done.returncode}\n{done.stderr}")
    text = re.sub(r"\([\d,]+ ((?:cycles )?per second)\)", r"(... \1)", done.stdout)
    lines = [_without_seconds(line.rstrip()) for line in text.splitlines()]
    return Scene(command, tuple(part for line in lines for part in textwrap.wrap(line, COLUMNS) or [""]))


def draw(scenes: Sequence[Scene]) -> str:
    """Return the picture of a session as SVG text."""
    width = round(2 * _MARGIN + COLUMNS * _ADVANCE)
    height = _BAR + 2 * _MARGIN + _LEADING * (1 + max(len(scene.lines) for scene in scenes))
    lengths = [_PROMPT_SECONDS + _LINE_SECONDS * len(scene.lines) + _READING_SECONDS for scene in scenes]
    total = sum(lengths)
    rules, groups, begin = [], [], 0.0
    for number, (scene, length) in enumerate(zip(scenes, lengths, strict=True)):
        texts = []
        for place, line in enumerate((f"$ {scene.command}", *scene.lines)):
            seconds = begin + (_PROMPT_SECONDS + _LINE_SECONDS * (place - 1) if place else 0)
            name = f"s{number}l{place}"
            shown, hidden = 100 * seconds / total, 100 * (begin + length) / total
            rules.append(
                f"@keyframes {name}{{0%,{shown:.2f}%{{opacity:0}}"
                f"{shown + 0.01:.2f}%,{hidden - 0.02:.2f}%{{opacity:1}}{hidden - 0.01:.2f}%,100%{{opacity:0}}}}"
                f"#{name}{{animation:{name} {total:.2f}s infinite}}"
            )
            texts.append(_text(name, line, place))
        groups.append(f'<g class="scene{number}">\n{chr(10).join(texts)}\n</g>')
        begin += length
    hidden_scenes = ",".join(f".scene{number} text" for number in range(1, len(scenes)))
    style = "\n".join(
        [
            "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d8dee9}",
            ".command{fill:#a3d977;font-weight:bold}",
            f"{hidden_scenes}{{opacity:0}}" if hidden_scenes else "",
            "@media (prefers-reduced-motion:no-preference){",
            *rules,
            "}",
        ]
    )
    dots = "".join(
        f'<circle cx="{_MARGIN + 6 + 18 * place}" cy="{_BAR / 2:g}" r="5" fill="{colour}"/>'
        for place, colour in enumerate(("#e06c75", "#e5c07b", "#98c379"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape("Terminal: " + "; ".join(scene.command for scene in scenes))}">\n'
        f"<style>\n{style}\n</style>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="#1e222a"/>\n'
        f"{dots}\n{chr(10).join(groups)}\n</svg>\n"
    )


def _without_seconds(line: str) -> str:
    """Replace the numbers in a table row of CPU seconds by dots of the same width."""
    return re.sub(r"[\d.]+", lambda number: "...".rjust(len(number[0])), line) if "CPU seconds" in line else line


def _text(name: str, line: str, place: int) -> str:
    """Return the SVG element of a line. Its fixed length aligns columns in every font."""
    length = f' textLength="{len(line) * _ADVANCE:g}" lengthAdjust="spacingAndGlyphs"' if line else ""
    kind = "" if place else ' class="command"'
    y = _BAR + _MARGIN + _LEADING * place + 6
    return f'<text id="{name}"{kind} x="{_MARGIN}" y="{y}"{length} xml:space="preserve">{escape(line)}</text>'


def main() -> int:
    """Write or check the picture and return the exit status."""
    parser = argparse.ArgumentParser(description="Record a terminal session as an animated SVG picture.")
    parser.add_argument("--out", type=Path, default=PICTURE, help="file to write [default: docs/img/terminal.svg]")
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    given = parser.parse_args()
    picture = draw([record(command) for command in COMMANDS])
    if given.check:
        if given.out.read_text(encoding="utf-8") == picture:
            return 0
        sys.stderr.write(f"{given.out}: differs from the commands' output; run python docs/_ext/recording.py\n")
        return 1
    given.out.write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
