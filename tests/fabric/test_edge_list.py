"""Edge lists: hosts are declared, and a network of several parts is refused with a switch of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import assert_refused, call
from vlane.errors import InputError
from vlane.golden.topologies.edge_list import read_edges


def edges(tmp_path: Path, text: str) -> Path:
    (tmp_path / "net.txt").write_text(text)
    return tmp_path / "net.txt"


def test_edge_list_is_read(tmp_path: Path) -> None:
    """Given cables between switches and declared hosts, ports are numbered in the order of the lines."""
    topology = read_edges(edges(tmp_path, "# two switches\nhost H*\nS1 S2\nS1 H1\nH2 S2  # host first\nS2 H10\n"))

    assert topology.switches == 2
    assert topology.cables == (((0, 0), (1, 0)),)
    assert topology.hosts == ((0, 1), (1, 1), (1, 2))
    assert (topology.switch_names, topology.host_names) == (("S1", "S2"), ("H1", "H2", "H10"))


@pytest.mark.parametrize(
    "declared", ["host gpu-01 gpu-02 gpu-03", "hosts gpu-0?", "host gpu-*", "host gpu-01\nhost gpu-0[23]", "host *-0*"]
)
def test_hosts_are_declared_by_name_or_pattern(declared: str, tmp_path: Path) -> None:
    """Given hosts by name or pattern, on any line, all other names are switches, also those with a capital H."""
    topology = read_edges(
        edges(tmp_path, f"HPE-leaf gpu-01\nHPE-leaf gpu-02\n{declared}\nHUB1 gpu-03\nHPE-leaf HUB1\n")
    )

    assert topology.host_names == ("gpu-01", "gpu-02", "gpu-03")
    assert topology.switch_names == ("HPE-leaf", "HUB1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("S1\n", "net.txt:1: line must be two names (a cable), or host and names of hosts, not S1"),
        ("host H*\nH1 H2\n", "net.txt:2: cable connects two hosts, H1 and H2"),
        ("host H*\nS1 H1\nS2 H1\n", "net.txt:3: host H1 already has a cable above"),
        ("", "edge list has no cables"),
        ("host H*\n", "edge list has no cables"),
        (
            "host H*\nleaf H1\nspine H2\nspine core\nother H3\n",
            "cables form 3 separate parts, with leaf (1 switch), spine (2 switches), other (1 switch)",
        ),
        (
            "leaf1 gpu-01\nleaf1 H2\nleaf1 leaf2\nleaf2 leaf3\nleaf3 leaf1\n",
            "such as host NAME NAME, or host gpu-* (names with one cable: gpu-01, H2)",
        ),
        ("host gpu-* node7\nleaf1 gpu-01\n", "net.txt:1: host must be the name of a node with a cable"),
        ("host H1\nleaf1 H1\n", "hosts must be at least 2, not 1"),
    ],
)
def test_bad_edge_list_is_refused(text: str, words: str, tmp_path: Path) -> None:
    """Given a file that is no network of declared hosts, the refusal names the line, or the parts, or candidates."""
    with pytest.raises(InputError) as refused:
        read_edges(edges(tmp_path, text))

    assert words in str(refused.value)


def test_command_names_the_declaration_that_is_missing(tmp_path: Path) -> None:
    """Given an edge list without hosts, a plan is refused with the names that could be hosts."""
    file = edges(tmp_path, "leaf1 a\nleaf2 b\nleaf1 leaf2\n")

    assert_refused(call("voqsw", "--topology", f"edges:{file}"), "host NAME", "names with one cable: a, b")
