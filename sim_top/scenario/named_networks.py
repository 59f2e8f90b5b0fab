"""Networks named by a word of the command line, with routes that need no VLs."""

from __future__ import annotations

from pathlib import Path

from vlane.errors import InputError, unknown_word
from vlane.golden.topologies import topology as topologies
from vlane.golden.topologies.edge_list import read_edges
from vlane.golden.topologies.routing import Routes, dmodk, up_down
from vlane.golden.topologies.topology import Topology

FORMS = {
    "irregular": "irregular:SWITCHES[,PORTS,HOSTS]",
    "tree": "tree:K,N",
    "fat_tree": "fat_tree:M,N",
    "torus": "torus:4x4[,HOSTS]",
    "dumbbell": "dumbbell:LEFT,RIGHT",
    "edges": "edges:FILE",
}
"""Syntax of each named network."""
_PORTS, _HOSTS = 8, 4
_DIGITS, _MOST = 18, 1 << 16
_COUNTS = {"irregular": (1, 3), "tree": (2,), "fat_tree": (2,), "torus": (1, 2), "dumbbell": (2,)}


def named_network(word: str, vl_of_sl: tuple[int, ...], *, seed: int) -> tuple[Topology, Routes]:
    """Return the network named by a word, with D-mod-k routes for trees and up*/down* routes from switch 0 otherwise.

    Parameters
    ----------
    word : str
        One of ``FORMS``. Random networks default to 8 ports per switch, 4 of them with hosts.
    vl_of_sl : tuple of int
        VL of each SL, at every output.
    seed : int
        Seed of a random network's cables.

    Raises
    ------
    InputError
        If the word is malformed or describes an impossible network.
    """
    name, _, rest = word.partition(":")
    if name not in FORMS:
        raise unknown_word("--topology", FORMS, name)
    try:
        topology = read_edges(Path(rest)) if name == "edges" else _of_numbers(name, rest, seed)
    except InputError as error:
        raise error if error.source or error.field == "--topology" else error.at(f"--topology {word}") from None
    return topology, (dmodk if "k" in topology.shape else up_down)(topology, vl_of_sl)


def _of_numbers(name: str, rest: str, seed: int) -> Topology:
    size, *more = rest.split(",")
    texts = size.split("x") if name == "torus" else [size]
    if 1 + len(more) not in _COUNTS[name] or not all(text.isascii() and text.isdigit() for text in (*texts, *more)):
        raise InputError("--topology", FORMS[name], f"{name}:{rest}")
    if any(len(text) > _DIGITS for text in (*texts, *more)):
        problem = f": numbers must have at most {_DIGITS} digits"
        raise InputError("--topology", f"numbers of at most {_DIGITS} digits", f"{name}:{rest}", problem=problem)
    first, *others = (int(text) for text in (texts[0], *more))
    if name == "irregular":
        ports, hosts = others or (_PORTS, _HOSTS)
        if first * ports > _MOST:
            raise InputError("switches times ports", f"at most {_MOST}", first * ports)
        return topologies.irregular(first, ports=ports, hosts=hosts, seed=seed)
    if max((first, *others)) > _MOST:
        raise InputError("--topology", f"a network with numbers up to {_MOST}", f"{name}:{rest}")
    if name == "torus":
        return topologies.torus(tuple(map(int, texts)), hosts=others[0] if others else 1)
    if name == "tree":
        return topologies.tree(first, others[0])
    return topologies.fat_tree(first, others[0]) if name == "fat_tree" else topologies.dumbbell(first, others[0])
