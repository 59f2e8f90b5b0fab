"""Unfairness at an output with buffers of one packet, where turns of lanes and inputs interact."""

from __future__ import annotations

from pathlib import Path

import pytest

from vlane.sim_top.scenario.world import make_world
from vlane.sim_top.study.simulate import simulate
from vlane.study.file import read_study_file

_BLOCKS = 8
"""Number of blocks of a packet of 512 bytes."""
STUDY = """
[network]
topology = "tree"
k = 4
n = 1
[link]
data_vls = 2
[buffers]
blocks = {blocks}
minimum_blocks = {lane}
maximum_blocks = {lane}
[run]
loads = [1.96]
cycles = 60000
warm_up_cycles = 10000
[measure]
flows = true
"""
CLASS = """
[[traffic]]
sl = {sl}
load = {load}
bytes = 512
pattern = "list"
file = "{host}.csv"
hosts = [{host}]
"""


@pytest.mark.slow
@pytest.mark.parametrize(("packets", "arrived"), [(1, [91, 3043, 3083]), (2, [1563, 1562, 3125])])
def test_flow_may_lose_the_free_space_each_time(tmp_path: Path, packets: int, arrived: list[int]) -> None:
    """With one-packet buffers, one flow loses the output's free space nearly every time.

    SLs 0 and 1 of host 0 and SL 0 of host 1 send to host 3 (rules IBS-2 to IBS-4, ``docs/ib_switch.md``). Buffers of
    two packets restore equal shares for host 0.
    """
    for host in (0, 1):
        (tmp_path / f"{host}.csv").write_text(f"source,destination\n{host},3\n", encoding="utf-8")
    lane = packets * _BLOCKS
    classes = [(0, 0.49, 0), (1, 0.49, 0), (0, 0.98, 1)]
    text = STUDY.format(blocks=2 * lane, lane=lane)
    text += "".join(CLASS.format(sl=sl, load=load, host=host) for sl, load, host in classes)
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")

    study = read_study_file(tmp_path / "study.toml").study
    _, tables = simulate(make_world(study, tmp_path), load=1.96, seed=1)

    assert list(tables["flows"]["packets"]) == arrived
