"""Outputs of fabric tools, line by line: diagnostics are skipped, unreadable parts are left out and recorded."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vlane.documents.textfile import TextFile

if TYPE_CHECKING:
    from pathlib import Path

    from vlane.errors import InputError

# Messages of libibmad, libibumad, libibnetdisc and of the programs that use them. No row of a dump begins like this.
_DIAGNOSTIC = re.compile(
    r"(?:[A-Za-z0-9_./-]{1,80}: )?(?:ibwarn|iberror|ibpanic|ibdebug|ibdiag|mad_rpc(?:_rmpp)?|umad|umad_[a-z_]+): "
    r"|(?:[A-Za-z0-9_./-]{0,200}/)?[A-Za-z0-9_-]{1,80}\.c:[0-9]{1,9}[;:]"
    r"|-[IWEF]- "
)
_FAILURE = re.compile(r"time[d -]*out|bad status|fail", re.IGNORECASE)
_BYTE_ORDER_MARK = "\ufeff"
_MOST = 1000
"""Largest number of unreadable parts of a file that are recorded one by one."""


@dataclass
class Remarks:
    """Observations of the readers of a capture.

    Parameters
    ----------
    partial : bool
        Leave out the parts that cannot be read; otherwise the first of them is raised.

    Attributes
    ----------
    unreadable : dict of str to list of InputError
        Parts that were left out, by file.
    diagnostics : dict of str to list of (int, str)
        Line number and text of the messages of the tools, by file.
    replaced : dict of str to (int, int, str)
        By file, the number of blocks that a later block of the same element replaced, how many of them differed, and
        the first element.
    skipped : dict of str to (int, str)
        By file, the number of blocks that are not used, and their kind.
    """

    partial: bool = False
    unreadable: dict[str, list[InputError]] = field(default_factory=dict)
    diagnostics: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    replaced: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    skipped: dict[str, tuple[int, str]] = field(default_factory=dict)

    def leave_out(self, file: str, error: InputError) -> None:
        """Record a part of a file that cannot be read; raise the error unless parts may be left out."""
        if not self.partial:
            raise error
        found = self.unreadable.setdefault(file, [])
        if len(found) < _MOST:
            found.append(error)

    def replace(self, file: str, element: str, *, differs: bool) -> None:
        """Record that a later block of a file replaced an earlier one of the same element."""
        blocks, differing, first = self.replaced.get(file, (0, 0, element))
        self.replaced[file] = blocks + 1, differing + differs, first

    def skip(self, file: str, kind: str) -> None:
        """Record a block that is not used."""
        self.skipped[file] = self.skipped.get(file, (0, kind))[0] + 1, kind

    def failures(self, file: str) -> list[tuple[int, str]]:
        """Return the diagnostics of a file that report a query without an answer."""
        return [(line, text) for line, text in self.diagnostics.get(file, []) if _FAILURE.search(text)]


class Dump(TextFile):
    """A text file that a tool printed.

    Parameters
    ----------
    path : Path
        The file.
    remarks : Remarks, optional
        Receives the observations; if left out, the first unreadable part is raised.
    """

    def __init__(self, path: Path, remarks: Remarks | None = None) -> None:
        super().__init__(path)
        self.remarks = Remarks() if remarks is None else remarks

    def is_noise(self, line: str) -> bool:
        """Return whether a line is blank or a diagnostic, which is recorded.

        Readers ask this only for lines that they do not recognise: it is slower than recognising a row.
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
        """Record a part that cannot be read; raise the error unless parts may be left out."""
        self.remarks.leave_out(self.path.name, error)

    def replace(self, element: str, *, differs: bool) -> None:
        """Record that a later block replaced an earlier one of the same element."""
        self.remarks.replace(self.path.name, element, differs=differs)

    def skip(self, kind: str) -> None:
        """Record a block that is not used."""
        self.remarks.skip(self.path.name, kind)
