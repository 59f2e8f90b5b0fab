"""Output streams: full devices, closed pipes, closed descriptors, encodings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import DATA

GUARDED = "from vlane.sim_top.output.streams import output_guarded\nwith output_guarded():\n    {}\n"
PRINTS = {"little": "print('x')", "much": "print('x' * 300_000)", "then ends": "print('x'); raise SystemExit(1)"}
UNBUFFERED = pytest.mark.parametrize("unbuffered", ["", "1"])


def run(code: str, unbuffered: str, redirected: str) -> subprocess.CompletedProcess[str]:
    """Run guarded code with its output redirected by a shell."""
    command = f'exec "$0" -c "$1" {redirected}'
    return subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, GUARDED.format(code)],
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        check=False,
    )


@UNBUFFERED
@pytest.mark.parametrize("code", PRINTS.values(), ids=PRINTS)
def test_a_full_output_is_one_line(code: str, unbuffered: str) -> None:
    """Given a full output device, the command prints one line and exits with 2."""
    done = run(code, unbuffered, "> /dev/full")

    assert done.returncode == 2
    assert done.stderr == "vlane: cannot write to stdout: No space left on device\n"


@UNBUFFERED
@pytest.mark.parametrize("code", PRINTS.values(), ids=PRINTS)
def test_a_closed_pipe_is_quiet(code: str, unbuffered: str) -> None:
    """Given a pipe closed by its reader, the command ends silently with status 141."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", GUARDED.format(code)],
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, "")


@UNBUFFERED
def test_the_own_output_as_a_file_is_a_pipe_too(unbuffered: str) -> None:
    """Writing to ``/dev/stdout`` into a closed pipe ends silently with status 141."""
    code = (
        "from pathlib import Path; from vlane.documents.files import write_whole; "
        "write_whole(Path('/dev/stdout'), 'x' * 300_000, option='--out')"
    )
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", GUARDED.format(code)],
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("redirected", [">&-", "2>&-", "2> /dev/full", ">&- 2>&-"])
def test_closed_streams_and_a_full_stderr_change_nothing(redirected: str) -> None:
    """Closed streams or a full stderr do not change the exit status."""
    code = "from vlane.sim_top.output.console import note, say; note('n'); say('s'); print('x'); raise SystemExit(1)"

    assert run(code, "", redirected).returncode == 1


def test_unencodable_characters_are_written_as_escapes() -> None:
    """Characters the terminal's encoding lacks are written as escapes."""
    code = "print('\\u00b1 \\udcff')"
    done = subprocess.run(
        [sys.executable, "-c", GUARDED.format(code)],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "\\xb1 \\udcff\n")


def test_broken_pipe_of_another_file_is_an_error() -> None:
    """A BrokenPipeError of another file is reported as an error."""
    done = run("raise BrokenPipeError(32, 'of another')", "", "")

    assert done.returncode == 1
    assert "of another" in done.stderr


def test_a_command_ends_quietly_when_its_reader_goes_away() -> None:
    """A real command whose reader has gone ends silently with status 141."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "vlane", "fabric", "show", str(DATA / "two_switch")],
        cwd=Path(__file__).parent.parent.parent,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, "")
