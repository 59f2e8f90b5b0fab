"""Line reader for outputs of fabric tools: skips diagnostics, and records unreadable parts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vlane.documents.textfile import TextFile

if TYPE_CHECKING:
    from pathlib import Path

    from vlane.errors import InputError

# Messages of libibmad, libibumad, libibnetdisc and of programs with these libraries. No row of a dump begins like this.
_DIAGNOSTIC = re.compile(
    r"(?:[A-Za-z0-9_./-]{1,80}: )?(?:ibwarn|iberror|ibpanic|ibdebug|ibdiag|mad_rpc(?:_rmpp)?|umad|umad_[a-z_]+): "
    r"|(?:[A-Za-z0-9_./-]{0,200}/)?[A-Za-z0-9_-]{1,80}\.c:[0-9]{1,9}[;:]"
    r"|-[IWEF]- "
)
_FAILURE = re.compile(r"time[d -]*out|bad status|fail", re.IGNORECASE)
_BYTE_ORDER_MARK = "\ufeff"
_MOST = 1000
"""Largest number of unreadable parts recorded one by one for a file."""


@dataclass
class Remarks:
    """Observations of the readers of a capture.

    Parameters
    ----------
    partial : bool
        Whether to leave out unreadable parts; otherwise the first unreadable part raises its error.

    Attributes
    ----------
    unreadable : dict of str to list of InputError
        Parts left out, by file.
    diagnostics : dict of str to list of (int, str)
        Line number and text of the tools' messages, by file.
    replaced : dict of str to (int, int, str)
        Number of replaced blocks, number of replacements with a difference, and first element, by file.
    skipped : dict of str to (int, str)
        Number and kind of skipped blocks (sections of a file that vlane does not use), by file.
    """

    partial: bool = False
    unreadable: dict[str, list[InputError]] = field(default_factory=dict)
    diagnostics: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    replaced: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    skipped: dict[str, tuple[int, str]] = field(default_factory=dict)

    def leave_out(self, file: str, error: InputError) -> None:
        """Record an unreadable part of a file, and raise the error unless ``partial`` is set."""
        if not self.partial:
            raise error
        found = self.unreadable.setdefault(file, [])
        if len(found) < _MOST:
            found.append(error)

    def replace(self, file: str, element: str, *, differs: bool) -> None:
        """Record the replacement of an earlier block of the same element."""
        blocks, differing, first = self.replaced.get(file, (0, 0, element))
        self.replaced[file] = blocks + 1, differing + differs, first

    def skip(self, file: str, kind: str) -> None:
        """Record that a block of a file was skipped, because vlane does not use it."""
        self.skipped[file] = self.skipped.get(file, (0, kind))[0] + 1, kind

    def failures(self, file: str) -> list[tuple[int, str]]:
        """Return the diagnostics of a file about failed queries."""
        return [(line, text) for line, text in self.diagnostics.get(file, []) if _FAILURE.search(text)]


class Dump(TextFile):
    """A text file printed by a tool.

    Parameters
    ----------
    path : Path
        The file.
    remarks : Remarks, optional
        Record of the observations; by default, the first unreadable part raises its error.
    """

    def __init__(self, path: Path, remarks: Remarks | None = None) -> None:
        super().__init__(path)
        self.remarks = Remarks() if remarks is None else remarks

    def is_noise(self, line: str) -> bool:
        """Return whether a line is blank or a diagnostic, and record the diagnostic.

        Readers call this only for unrecognised lines, because the test is slower than the recognition of a row.
        """
        if not line or line.isspace() or line == _BYTE_ORDER_MARK:
            return True
        if not _DIAGNOSTIC.match(line):
            return False
        found = self.remarks.diagnostics.setdefault(self.path.name, [])
        if len(found) < _MOST:
            found.append((self.line, line))
        return True

    @property
    def diagnostics(self) -> int:
        """Number of diagnostics so far."""
        return len(self.remarks.diagnostics.get(self.path.name, ()))

    def leave_out(self, error: InputError) -> None:
        """Record an unreadable part, and raise the error unless unreadable parts may be left out."""
        self.remarks.leave_out(self.path.name, error)

    def replace(self, element: str, *, differs: bool) -> None:
        """Record the replacement of an earlier block of the same element."""
        self.remarks.replace(self.path.name, element, differs=differs)

    def skip(self, kind: str) -> None:
        """Record that a block of the file was skipped, because vlane does not use it."""
        self.remarks.skip(self.path.name, kind)
