"""Files of one folder that are written together: all of them or none, and nothing is overwritten silently."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from vlane.documents.files import usable_folder
from vlane.errors import InputError


def write_together(folder: Path, files: Mapping[str, str | bytes], *, option: str, force: bool) -> list[Path]:
    """Write files into a folder, made if it is missing; return their paths, in order.

    A file that is there with the same content is left as it is. What was there stays until all new contents are
    written beside it. A link stays; what it leads to is written.

    Parameters
    ----------
    folder : Path
        Where they go.
    files : mapping of str to str or bytes
        Contents by name.
    option : str
        Option that named the folder.
    force : bool
        Replace files whose content differs.

    Raises
    ------
    InputError
        If a file is there with other content and ``force`` is not given, if something that is no file has its name,
        or if it cannot be written; then none is written.
    """
    usable_folder(folder, option=option)
    wanted = {
        Path(os.path.realpath(folder / name)): content if isinstance(content, bytes) else content.encode()
        for name, content in files.items()
    }
    fresh = {file: content for file, content in wanted.items() if not _is_there(file, content, option, force=force)}
    parts = {file: file.with_name(f".{file.name}.{os.getpid()}.part") for file in fresh}
    file = folder
    try:
        for file, content in fresh.items():
            parts[file].write_bytes(content)
        for file, part in parts.items():
            part.replace(file)
    except OSError as error:
        raise _unusable(option, file, error) from None
    finally:
        for part in parts.values():
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
    return [folder / name for name in files]


def _is_there(file: Path, content: bytes, option: str, *, force: bool) -> bool:
    """Return whether a file has its content already; refuse what must not be replaced."""
    try:
        if not os.path.lexists(file):
            return False
        if not file.is_file():
            raise InputError(option, "a folder in which this is a regular file", "something else", source=str(file))
        same = file.read_bytes() == content
    except OSError as error:
        raise _unusable(option, file, error) from None
    if not same and not force:
        raise InputError("--force", "given to replace a file whose content differs", "left out", source=str(file))
    return same


def _unusable(option: str, file: Path, error: OSError) -> InputError:
    return InputError(option, "a folder that can be written", error.strerror or "unusable", source=str(file))
