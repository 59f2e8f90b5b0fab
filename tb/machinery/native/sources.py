"""Lines of Python that generated hardware comes from."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent.parent


def source_line(source: str) -> str:
    """Return ``file:line`` of what yosys says: below the repository, or, if it is of a package, its name only."""
    place, _, line = source.rpartition(":")
    path = Path(place)
    ours = path.is_relative_to(_ROOT) and "site-packages" not in path.parts
    return f"{path.relative_to(_ROOT) if ours else path.name}:{line.split('.')[0]}"
