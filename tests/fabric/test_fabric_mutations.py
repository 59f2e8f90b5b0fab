"""Dumps that were damaged on their way: lines dropped, doubled, reordered, cut, with other line ends."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.conftest import DATA
from tests.fabric.ibdiagnet import write_ibdiagnet, write_opensm
from vlane.errors import InputError
from vlane.fabric.capture import load_fabric
from vlane.fabric.check import check_fabric
from vlane.fabric.verdict import counts, verdict

NAME = "two_switch"
TOPOLOGIES = ("ibnetdiscover.txt", "opensm-subnet.lst", "ibdiagnet2.lst", "ibdiagnet2.net_dump", "ibdiagnet2.db_csv")
FORMATS = (
    *TOPOLOGIES,
    "opensm-lfts.dump",
    "dump_fts.txt",
    "opensm.fdbs",
    "ibdiagnet2.fdbs",
    "opensm-sl2vl.dump",
    "smpquery-sl2vl.txt",
    "ibdiagnet2.slvl",
    "smpquery-vlarb.txt",
    "smpquery-portinfo.txt",
    "path-sl.csv",
    "saquery-path.txt",
    "ibdiagnet2.psl",
    "opensm-path-records.dump",
    "node-name-map",
    "opensm.conf",
)
MUTANTS = 300
CHECKED = 10
"""Every n-th mutant is checked, too; the others are read only."""


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one capture in every format."""
    folder = tmp_path_factory.mktemp("originals")
    fabric = load_fabric(DATA / NAME)
    write_opensm(fabric, write_ibdiagnet(fabric, folder))
    for file in FORMATS:
        if (DATA / NAME / file).exists():
            shutil.copy(DATA / NAME / file, folder)
    names = "".join(f'0x{guid:016x} "node {number}" # rack\n' for number, guid in enumerate(fabric.nodes))
    (folder / "node-name-map").write_text(names)
    return folder


def damaged(data: bytes, source: random.Random) -> bytes:
    """Return a file with one to three damages."""
    for _ in range(source.randint(1, 3)):
        lines = data.split(b"\n")
        start = source.randrange(len(lines))
        end = min(len(lines), start + source.choice([1, 1, 2, 5, 40]))
        kind = source.randrange(7)
        if kind == 0:
            del lines[start:end]
        elif kind == 1:
            lines[start:start] = lines[start:end]
        elif kind == 2:
            some = lines[start:end]
            source.shuffle(some)
            lines[start:end] = some
        elif kind == 3:
            other = source.randrange(len(lines))
            lines[start], lines[other] = lines[other], lines[start]
        elif kind == 4:
            lines = [*lines[:start], lines[start][: source.randrange(len(lines[start]) + 1)]]
        elif kind == 5:
            lines[start] = lines[start][: source.randrange(len(lines[start]) + 1)]
        else:
            return b"\r\n".join(lines)
        data = b"\n".join(lines)
    return data


@pytest.mark.parametrize("file", FORMATS)
def test_damaged_dump_gives_a_verdict_or_one_line(file: str, originals: Path, tmp_path: Path) -> None:
    """Given 300 damaged dumps of a format, each gives a verdict with counts, or one refusal that names the file."""
    source = random.Random(file)  # noqa: S311
    original = (originals / file).read_bytes()
    if file not in TOPOLOGIES:
        shutil.copy(originals / "ibnetdiscover.txt", tmp_path)
    read, refused = 0, []
    for number in range(MUTANTS):
        (tmp_path / file).write_bytes(damaged(original, source))
        try:
            fabric = load_fabric(tmp_path, partial=True)
            if number % CHECKED == 0:
                report = check_fabric(fabric)
                assert "as far as checked (" in verdict(report, ok=report.ok)
                assert len(counts(report)) == 5
                assert all("\n" not in f"{finding.where}{finding.message}" for finding in report.warnings)
            read += 1
        except InputError as error:
            refused.append(error)

    assert not any("\n" in str(error) for error in refused)
    assert all(error.source.endswith(file) for error in refused if file not in TOPOLOGIES)
    assert read + len(refused) == MUTANTS
    assert read >= MUTANTS // 10
    assert file in TOPOLOGIES or file == "opensm.conf" or not refused
