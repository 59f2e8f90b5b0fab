"""Writing of output files: atomic replacement, symbolic links, devices, unusual names."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.conftest import assert_refused, call, call_apart
from vlane.documents.files import usable_folder, write_whole
from vlane.errors import InputError


def left_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    """A replaced file keeps its permissions, and an open reader keeps the old content."""
    file = tmp_path / "out.csv"
    file.write_text("old")
    file.chmod(0o640)
    with file.open() as reader:
        write_whole(file, "new", option="--out")
        assert (file.read_text(), reader.read()) == ("new", "old")

    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert left_in(tmp_path) == ["out.csv"]


def test_a_new_file_has_the_mode_of_the_umask(tmp_path: Path) -> None:
    """A new file has the mode given by the umask."""
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "out", b"\xff\x00", option="--out")
    finally:
        os.umask(before)

    assert (tmp_path / "out").read_bytes() == b"\xff\x00"
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o640


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    """Given a symbolic link, its target is replaced and the link remains."""
    (tmp_path / "kept").mkdir()
    target, link = tmp_path / "kept" / "real.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to("kept/real.csv")

    write_whole(link, "new", option="--out")

    assert link.is_symlink()
    assert target.read_text() == "new"
    assert left_in(tmp_path) == ["kept", "link.csv"]


def test_a_link_to_nothing_makes_its_file(tmp_path: Path) -> None:
    """Given a dangling symbolic link, its target is created."""
    (tmp_path / "link").symlink_to(tmp_path / "later")

    write_whole(tmp_path / "link", "new", option="--out")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "later").read_text() == "new"


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    """Given symbolic links in a circle, writing is refused."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")

    with pytest.raises(InputError, match="links"):
        write_whole(tmp_path / "a", "new", option="--out")
    assert left_in(tmp_path) == ["a", "b"]


def test_a_device_is_written_to_and_stays() -> None:
    """A device is written to and remains a device. A full device is reported."""
    write_whole(Path(os.devnull), "new", option="--out")

    with pytest.raises(InputError, match="--out: cannot write the file: No space left on device"):
        write_whole(Path("/dev/full"), "new", option="--out")
    for device in (os.devnull, "/dev/full"):
        assert stat.S_ISCHR(Path(device).stat().st_mode)


def test_a_pipe_gets_all(tmp_path: Path) -> None:
    """A named pipe receives content larger than its buffer completely."""
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()

    write_whole(pipe, "x" * 300_000, option="--out")

    reader.join()
    assert got == [b"x" * 300_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_dev_stdout_keeps_the_order_of_output(unbuffered: str, tmp_path: Path) -> None:
    """Output to ``/dev/stdout`` appears in order with other output and does not replace the shell's file."""
    code = (
        "from pathlib import Path\nfrom vlane.documents.files import write_whole\n"
        "print('before')\nwrite_whole(Path('/dev/stdout'), 'it\\n', option='--out')\nprint('after')\n"
    )
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}

    with (tmp_path / "out").open("w") as output:
        subprocess.run([sys.executable, "-c", code], stdout=output, check=True, env=environment)

    assert (tmp_path / "out").read_text() == "before\nit\nafter\n"
    assert left_in(tmp_path) == ["out"]


@pytest.mark.parametrize(
    "name", [".hidden", "a $HOME '\"#", "two\nlines", "no\udcffutf-8", "x" * 255, "-", "$(touch x)"]
)
def test_any_name_of_a_file_will_do(name: str, tmp_path: Path) -> None:
    """Files with unusual names, up to the longest possible name, are written and replaced."""
    for text in ("old", "new"):
        write_whole(tmp_path / name, text, option="--out")

    assert (tmp_path / name).read_text() == "new"
    assert left_in(tmp_path) == [name]


@pytest.mark.parametrize("name", ["x" * 256, "zero\0byte", "half\ud800", "missing/file", "file/below", "", "folder"])
def test_unwritable_file_is_refused(name: str, tmp_path: Path) -> None:
    """Given a file name that cannot be written, the error is one line and no file is left."""
    (tmp_path / "file").write_text("it")
    (tmp_path / "folder").mkdir()

    with pytest.raises(InputError, match="--out must be a") as refused:
        write_whole(tmp_path / name, "new", option="--out")
    assert len(str(refused.value).splitlines()) == 1
    assert left_in(tmp_path) == ["file", "folder"]


@pytest.mark.parametrize("name", ["x" * 256, "zero\0byte", "file", "file/below"])
def test_impossible_folder_is_refused(name: str, tmp_path: Path) -> None:
    """Given a folder name that cannot be created, an error is raised."""
    (tmp_path / "file").write_text("it")

    with pytest.raises(InputError, match="--out must be a"):
        usable_folder(tmp_path / name, option="--out")


def test_a_disk_that_fills_leaves_the_old_file(tmp_path: Path) -> None:
    """Given a full disk, the old file remains and the partial new file is removed."""
    file = tmp_path / "out"
    file.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(InputError, match="--out: cannot write the file"):
            write_whole(file, "x" * 5000, option="--out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert file.read_text() == "old"
    assert left_in(tmp_path) == ["out"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    """A read-only file is refused even if its folder is writable."""
    (tmp_path / "out").write_text("old")
    (tmp_path / "out").chmod(0o444)

    with pytest.raises(InputError, match="read-only"):
        write_whole(tmp_path / "out", "new", option="--out")


def test_characters_without_utf_8_are_written_as_escapes(tmp_path: Path) -> None:
    """Characters without a UTF-8 encoding are written as escapes instead of ending the run."""
    write_whole(tmp_path / "out", "a\udcffb", option="--out")

    assert (tmp_path / "out").read_text() == "a\\udcffb"


def test_departures_go_to_a_full_device_in_one_line(table: Path, arrivals: Path) -> None:
    """Departures written to a full device are reported in one line, and the device remains."""
    refused = call("egress", "--table", table, "--arrivals", arrivals, "--departures", "/dev/full")

    assert_refused(refused, "/dev/full", "--departures", "No space left")
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_departures_have_any_name(table: Path, arrivals: Path, tmp_path: Path) -> None:
    """Departures are written to files and folders with unusual names."""
    folder = tmp_path / "a $b '\" \udcff"
    folder.mkdir()
    file = folder / "$(d)'.csv"

    done = call_apart("egress", "--table", table, "--arrivals", arrivals, "--departures", file)

    assert done.status == 0, done.err
    assert file.read_text().startswith("cycle,vl,bytes,list\n")
    assert left_in(folder) == [file.name]


@pytest.mark.long
def test_pages_and_waves_have_any_name(tmp_path: Path) -> None:
    """Pages and waves are written to paths with quotes, blanks and shell characters."""
    folder = tmp_path / "a $b '\" #"

    done = call("cosim", "rr", "--cycles", "2000", "--page", folder, "--waves", folder / "$(w)'.vcd")

    assert done.status == 0, done.err
    assert left_in(folder) == ["$(w)'.vcd", "index.html"]
    assert "$enddefinitions" in (folder / "$(w)'.vcd").read_text()
