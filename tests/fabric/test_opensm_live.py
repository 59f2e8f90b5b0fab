"""OpenSM's own reading of random options, against ours: the log of the daemon, and the tables it programs.

``make live-conf`` runs these tests. They need the programs ``opensm``, ``ibsim`` and ``smpquery`` and the library
``libumad2sim.so`` (Debian: ``opensm ibsim-utils libumad2sim0 infiniband-diags``), and are skipped without them.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.children import started
from tests.conftest import DATA
from vlane.fabric.capture import load_fabric
from vlane.fabric.dumps.opensm_conf import Complaint, complaints, opensm_options
from vlane.fabric.model import Kind

PROGRAMS = ("opensm", "ibsim", "smpquery")
PREFIXES = ("qos_", "qos_ca_", "qos_sw0_", "qos_swe_", "qos_rtr_")
LANES, ENTRIES = 8, 8
"""Data lanes and entries of each list that ports of ibsim have."""
STRINGS = 500
PER_RUN = 3 * len(PREFIXES)
MOST_CHARACTERS = 127
"""Of a message that OpenSM logs; longer ones are cut, with their line feed."""
LOGGED = {
    ("entry", "format"): "vl:weight={} improperly formatted",
    ("vl", "format"): "vl={} improperly formatted",
    ("weight", "format"): "weight={} improperly formatted",
    ("vl", "range"): "vl={} out of range",
    ("weight", "range"): "weight={} out of range",
    ("length", "short"): " < 16 VLs listed",
}
EXCESS = {
    True: " > 16 listed: excess VLs will be dropped",
    False: " > 64 listed: excess vl:weight pairs will be dropped",
}
INVALID = re.compile(r" Invalid Cached Option: (\w+)=(-?\d+): Using")
LOADED = re.compile(r" Loading Cached Option:(\w+) = (.*)")


def _library() -> str | None:
    places = [*os.environ.get("LD_LIBRARY_PATH", "").split(":"), "/usr/lib", "/usr/lib64"]
    found = (file for place in filter(None, places) for file in Path(place).glob("**/umad2sim/libumad2sim.so"))
    return next(map(str, found), None)


pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not all(map(shutil.which, PROGRAMS)) or _library() is None, reason="opensm and ibsim missing"),
]


class Live:
    """OpenSM on a simulated fabric of two switches and four hosts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "IBSIM_SOCKNAME": f"vlane{os.getpid()}",
            "SIM_HOST": "H0",
            "OSM_TMP_DIR": str(folder),
            "OSM_CACHE_DIR": str(folder),
        }
        shutil.copy(DATA / "two_switch" / "fabric.net", folder)

    def run(self, *command: str) -> str:
        """Return the output of a program that talks to the simulator."""
        preload = {**self.environment, "LD_PRELOAD": _library() or ""}
        done = subprocess.run(
            command, cwd=self.folder, env=preload, capture_output=True, timeout=60, check=False, encoding="latin-1"
        )
        return done.stdout

    def configure(self, text: str) -> str:
        """Run OpenSM once with a file of options, and return its messages about the file."""
        (self.folder / "opensm.conf").write_text(text)
        out = self.run("opensm", "-o", "-F", "opensm.conf", "-f", "osm.log", "-d", "2", "-s", "0")
        assert "Exiting SM" in out, out
        return out.split("Command Line Arguments", 1)[0]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    made, quiet = Live(tmp_path_factory.mktemp("live")), {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with Path("/dev/zero").open() as zero:  # the simulator reads its commands from there until the end
        command = ["ibsim", "-s", "-n", "fabric.net"]
        with started(command, cwd=made.folder, env=made.environment, stdin=zero, **quiet):
            time.sleep(1)
            yield made


def random_number(source: random.Random) -> str:
    value = source.choice((0, 1, 4, 7, 8, 14, 15, 16, 64, 255, 256, 300, 1 << 31, 1 << 32, (1 << 64) - 1, 1 << 70))
    value = source.choice((value, source.randint(0, 20)))
    text = source.choice((str, str, str, hex, lambda number: f"0{number:o}"))(value)
    if source.random() < 0.15:
        text = source.choice("-+") + text
    if source.random() < 0.12:
        text = source.choice((" {}", "{} ", "\t{}", "{}x", "0x{}", "{}:", "{};", "", "08", "(null)", "x")).format(text)
    return text


def random_list(source: random.Random, *, lanes: bool) -> str:
    """Return the value of a vlarb option, or of an sl2vl option, with the mistakes that people make."""
    count = source.choice((1, 2, 3, 8, 15, 16, 17, 66 if not lanes else 20))
    separator = source.choice((":", ":", ":", ":", "-", " "))
    parts = [random_number(source) + ("" if lanes else separator + random_number(source)) for _ in range(count)]
    text = source.choice((",", ",", ",", ", ", " ,", ";", ",,")).join(parts)
    text = source.choice(("{}", "{}", "{}", "{},", ",{}", "'{}'", '"{}"', "' {} '", "'{}", "{} ")).format(text)
    return source.choice((text, text, text, text, "(null)", "")) if source.random() < 0.2 else text


def logged(complaint: Complaint) -> str:
    """Return the line in which OpenSM logs a warning about a list."""
    name, _, text, kind = complaint.option.name, *complaint[1:]
    words = EXCESS[name.endswith("sl2vl")] if kind == "long" else LOGGED[complaint.field, kind].format(text)
    return f" Warning: Cached Option {name}:{words}\n"[:MOST_CHARACTERS]


def test_random_lists_are_read_as_opensm_reads_them(live: Live, tmp_path: Path) -> None:
    """500 lists: OpenSM's warnings are ours, and adapters and switches get the tables that we compute."""
    source, compared, warned, programmed = random.Random(55), 0, 0, 0  # noqa: S311 - repeatable
    for _ in range(-(-STRINGS // PER_RUN)):
        names = [prefix + name for prefix in PREFIXES for name in ("vlarb_low", "vlarb_high", "sl2vl")]
        text = "".join(f"{name} {random_list(source, lanes=name.endswith('sl2vl'))}\n" for name in names)
        conf = opensm_options("opensm.conf", f"qos TRUE\n{text}")
        out = live.configure(f"qos TRUE\n{text}")

        lists = [option for option in map(conf.get, names) if option]
        ours = [logged(each) for option in lists for each in complaints(option)]
        assert "".join(ours) == out[out.index(" Warning") : out.rindex("\n") + 1] if ours else " Warning" not in out, (
            text
        )
        compared += len(names)
        warned += len(ours)
        programmed += assert_programmed(live, conf, tmp_path)
    assert compared >= STRINGS
    assert warned > compared
    assert programmed > compared / 3


def assert_programmed(live: Live, conf: Any, folder: Path) -> int:
    """Compare the tables of an adapter and a switch with the options, and return the number of tables."""
    (folder / "ibnetdiscover.txt").write_text(live.run("ibnetdiscover"))
    topology = load_fabric(folder)
    vlarb, sl2vl, kinds = "", "", {}
    for node in topology.nodes.values():
        port = min(node.links)
        lid = node.lids[0 if node.kind is Kind.SWITCH else port]
        kinds[node.guid] = port
        asked = f"{lid} {port}" if node.kind is Kind.SWITCH else f"{lid}"
        vlarb += f"$ smpquery vlarb {lid} {port}\n" + live.run("smpquery", "vlarb", str(lid), str(port))
        sl2vl += f"$ smpquery sl2vl {asked}\n" + live.run("smpquery", "sl2vl", *asked.split())
    (folder / "smpquery-vlarb.txt").write_text(vlarb)
    (folder / "smpquery-sl2vl.txt").write_text(sl2vl)
    fabric = load_fabric(folder)
    compared = 0
    for port, table in fabric.vlarb.items():
        configured = conf.configured(fabric.nodes[port.guid].kind)
        for option, entries in ((configured.high, table.high), (configured.low, table.low)):
            assert configured.programmed_list(option, cap=ENTRIES, vls=LANES) == entries, option
            compared += 1
    for (guid, _, to), row in fabric.sl2vl.items():
        node = fabric.nodes[guid]
        if to in node.links:
            configured = conf.configured(node.kind)
            assert configured.programmed_row(LANES) == row, configured.sl2vl
            compared += 1
    return compared


def test_random_limits_are_read_as_opensm_reads_them(live: Live) -> None:
    """The number that OpenSM loads for each limit, and the limits that it refuses."""
    source, refused = random.Random(56), 0  # noqa: S311 - repeatable
    for _ in range(60):
        texts = {prefix: random_number(source) for prefix in PREFIXES}
        text = "".join(f"{prefix}high_limit {value}\n" for prefix, value in texts.items())
        text += "qos TRUE\n"
        out = live.configure(text)
        loaded = {name: int(value) for name, value in LOADED.findall(out) if name.endswith("high_limit")}
        invalid = {name for name, _ in INVALID.findall(out)}

        conf = opensm_options("opensm.conf", text)

        for kind, prefix in ((Kind.CA, "qos_ca_"), (Kind.SWITCH, "qos_swe_"), (Kind.ROUTER, "qos_rtr_")):
            configured = conf.configured(kind)
            names = (f"{prefix}high_limit", "qos_high_limit")
            given = [loaded.get(name, -1) for name in names]
            assert configured.limit() == next((each for each in given if 0 <= each <= 255), 0), text
            assert {option.name for option in configured.refused_limits()} == invalid & set(names), text
        refused += len(invalid)
    assert refused > 5
