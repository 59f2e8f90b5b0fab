"""Python source lines of generated hardware."""

from __future__ import annotations

from pathlib import Path

import vlane

_ROOT = Path(vlane.__file__).resolve().parent.parent


def source_line(source: str) -> str:
    """Return yosys' source attribute as ``file:line``, relative to the repository (other packages: the file name)."""
    place, _, line = source.rpartition(":")
    path = Path(place).resolve()  # imports lead through the links in vlane/
    ours = path.is_relative_to(_ROOT) and "site-packages" not in path.parts
    return f"{path.relative_to(_ROOT) if ours else path.name}:{line.split('.')[0]}"
