"""``vlane vlarb plan``: requested shares and waits on golden and hardware, and infeasible requests."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import DATA, ROOT, assert_refused, call
from tests.planning.saturated import saturated_shares
from vlane.errors import InputError
from vlane.planning.vlarb_plan import plan_vlarb
from vlane.planning.vlarb_waits import longest_wait
from vlane.planning.vlarb_wants import Wanted, Wants, read_wants
from vlane.schedulers.vlarb import VLArbEntry, VLArbTable

WANTS = ROOT / "sim_top" / "configs" / "vlarb_wants.toml"
BLOCK_US = 64 * 8 / 100 / 1000
BLOCKS = 65
"""Of a packet of 4096 bytes."""


def planned(**options: Any) -> dict[str, Any]:
    """Return the plan of the example."""
    called = call("vlarb", "plan", options.get("file", WANTS), "--json")
    assert called.status == 0, called.err
    return dict(called.json())


def test_what_is_wanted_is_promised() -> None:
    """The plan's shares and wait bounds satisfy every request of the example.

    Shares are those of the arbiter's decisions.
    """
    done = planned()

    table = VLArbTable(
        *([VLArbEntry(*each) for each in done[name]] for name in ("high", "low")), done["limit_of_high_priority"]
    )
    shares = saturated_shares(table, dict.fromkeys(range(4), BLOCKS), data_vls=4)
    wanted = {each.sl: each for each in read_wants(WANTS).levels}
    assert [level["sl"] for level in done["levels"]] == list(wanted)
    for level in done["levels"]:
        want = wanted[level["sl"]]
        assert level["vl"] == done["sl2vl"][level["sl"]]
        assert level["share"] == pytest.approx(shares[level["vl"]], abs=1e-12)
        assert level["share"] >= float(want.share or 0)
        bound = longest_wait(table, level["vl"], most=dict.fromkeys(range(4), BLOCKS))
        assert level["wait_bound_us"] == pytest.approx(bound * BLOCK_US)
        assert want.wait_us is None or level["wait_bound_us"] <= want.wait_us
        assert level["rate_gbps"] == pytest.approx(100 * level["share"])
    assert sum(level["share"] for level in done["levels"]) == pytest.approx(1)
    assert [level["share_wanted"] for level in done["levels"]] == [0.4, 0.3, 0.02, None]


def test_the_hardware_keeps_what_is_promised(tmp_path: Path) -> None:
    """With all lanes full, hardware shares and waits agree with the plan.

    Shares are within one packet per round, waits within the bound, and high lanes reach half of it.
    """
    done = planned()
    table, arrivals = tmp_path / "table.toml", tmp_path / "arrivals.csv"
    assert call("vlarb", "plan", WANTS, "--out", table).status == 0
    lines = [f"0,{vl},{BLOCKS * 64}" for _ in range(300) for vl in range(4)]
    arrivals.write_text("cycle,vl,bytes\n" + "\n".join(lines) + "\n")

    called = call("egress", "--table", table, "--arrivals", arrivals, "--model", "both", "--list", "--json")

    assert called.status == 0, called.err
    starts: dict[int, list[int]] = {vl: [] for vl in range(4)}
    for each in called.json()["departures"]:
        starts[each["vl"]].append(each["cycle"])
    full = min(cycles[-1] for cycles in starts.values())
    round_blocks = 10 * BLOCKS  # five packets of the low list, each with one of the high list
    for level in done["levels"]:
        cycles = [cycle for cycle in starts[level["vl"]] if cycle <= full]
        assert abs(len(cycles) * BLOCKS - level["share"] * full) <= BLOCKS * (
            1 + level["share"] * round_blocks / BLOCKS
        )
        waited = max(np.diff(cycles)) * BLOCK_US
        assert waited <= level["wait_bound_us"]
        if level["priority"] == "high":
            assert waited > level["wait_bound_us"] / 2


def test_opensm_is_told_in_its_own_words() -> None:
    """The plan's lines for ``opensm.conf`` contain its lists, limit and map."""
    done = planned()

    lines = dict(line.split(" ", 1) for line in done["opensm"])
    assert lines["qos"] == "TRUE"
    assert lines["max_op_vls"] == "3"
    assert lines["qos_high_limit"] == str(done["limit_of_high_priority"])
    assert lines["qos_vlarb_high"] == ",".join(f"{vl}:{weight}" for vl, weight in done["high"])
    assert lines["qos_sl2vl"] == ",".join(map(str, done["sl2vl"]))
    assert done["sl2vl"][4:] == [done["sl2vl"][0]] * 12  # levels without a request


def test_tables_of_today_are_beside() -> None:
    done = call("vlarb", "plan", WANTS, "--fabric", DATA / "two_switch", "--json").json()

    assert [level["sl"] for level in done["today"][0]["levels"]] == [1, 2, 3, 0]  # as the wants have them
    assert "longest wait" in call("vlarb", "plan", WANTS, "--fabric", DATA / "two_switch").out


LEVELS = "[link]\nmtu = 4096\ndata_vls = 4\nrate_gbps = 100\n"


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ([(0, "share = 0.7"), (1, "share = 0.4")], ["level.0.share", ":7", "at most 1", "1.1 in all"]),
        ([(0, 'share = 0.6\npriority = "high"'), (1, "rate_gbps = 39")], ["level.1.rate_gbps", "0.3333", "0.39"]),
        ([(0, "share = 0.5"), (1, "wait_us = 0.2")], ["level.1.wait_us", "at least about", "0.2"]),
        ([(0, "share = 0.5"), (1, "wait_us = 0.0000001")], ["level.1.wait_us", "at least about", "1E-7"]),
        (
            [(0, 'share = 1\npriority = "high"'), (1, 'wait_us = 9\npriority = "low"')],
            ["level.1.wait_us", "left out, because the other requirements allow no bound"],
        ),
        (
            [(0, "share = 0.5"), (1, 'share = 0.5\nwait_us = 90\npriority = "low"'), (2, 'priority = "high"')],
            ["level.0.share", "high"],
        ),
        ([(sl, "share = 0.1") for sl in range(5)], ["link.data_vls", "at least 5", "4"]),
        ([(0, "share = 0.1"), (0, "share = 0.2")], ["level.1.sl", "already has a [[level]] above"]),
        ([(0, "share = 0")], ["level.0.share", "above 0"]),
        ([(0, "share = 1.5")], ["level.0.share", "at most 1"]),
        ([(0, "share = 0.1\nrate_gbps = 3")], ["level.0.rate_gbps", "cannot be used with share"]),
        ([(0, "rate_gbps = 101")], ["level.0.rate_gbps", "at most 100", "101"]),
        ([(0, "wait_us = -1")], ["level.0.wait_us", "above 0"]),
        ([(16, "wait_us = 1")], ["level.0.sl", "below 16"]),
        ([(1, 'priority = "first"')], ["level.0.priority", "high, low"]),
        ([], ["level", "missing"]),
    ],
)
def test_what_cannot_be_is_refused(levels: list[tuple[int, str]], words: list[str], tmp_path: Path) -> None:
    """Given infeasible requests, one line names the binding request, and no file is written."""
    file, out = tmp_path / "wants.toml", tmp_path / "table.toml"
    file.write_text(LEVELS + "".join(f"[[level]]\nsl = {sl}\n{want}\n" for sl, want in levels))

    called = call("vlarb", "plan", file, "--out", out, "--json")

    assert_refused(called, str(file), *words)
    assert not out.exists()


def test_a_wait_that_is_named_as_possible_is(tmp_path: Path) -> None:
    """The minimum wait named in a refusal is feasible."""
    file = tmp_path / "wants.toml"
    text = LEVELS + "[[level]]\nsl = 0\nshare = 0.5\n[[level]]\nsl = 1\nwait_us = {}\n[[level]]\nsl = 2\nwait_us = 9\n"
    file.write_text(text.format("0.3"))
    told = call("vlarb", "plan", file).err
    possible = float(told.split("at least about ")[1].split()[0])
    file.write_text(text.format(possible * 1.001))

    assert call("vlarb", "plan", file).status == 0


def test_levels_without_wants_share_a_lane_if_there_are_too_few(tmp_path: Path) -> None:
    """Levels without requests share a lane if there are too few lanes and equal priorities."""
    file = tmp_path / "wants.json"
    levels: list[dict[str, Any]] = [{"sl": sl, "share": 0.1} for sl in (4, 5, 6)]
    levels += [{"sl": sl} for sl in (0, 1, 2)]
    file.write_text(json.dumps({"link": {"data_vls": 4}, "level": levels}))
    done = planned(file=file)

    assert [level["vl"] for level in done["levels"]] == [0, 1, 2, 3, 3, 3]
    assert done["high"] == []
    levels[-1]["priority"] = "high"
    file.write_text(json.dumps({"link": {"data_vls": 4}, "level": levels}))
    assert_refused(call("vlarb", "plan", file), "link.data_vls", "at least 5")


LIMITS = (0, 1, 2, 4, 8)


def _lists(vls: Sequence[int], most: int) -> list[tuple[VLArbEntry, ...]]:
    """Return every short list with entries of one or two packets that names all given lanes."""
    kinds = [VLArbEntry(vl, BLOCKS * packets) for vl in vls for packets in (1, 2)]
    lists = (each for length in range(len(vls), most + 1) for each in itertools.product(kinds, repeat=length))
    return [each for each in lists if {entry.vl for entry in each} == set(vls) and each[:1] == tuple(sorted(each)[:1])]


@cache
def _what_tables_give(levels: int, high: int, most_high: int) -> NDArray[np.float64]:
    """Return shares and waits of the lanes under every table with up to 3 low entries and some high entries."""
    most, rows = dict.fromkeys(range(levels), BLOCKS), []
    limits = LIMITS if 0 < high < levels else (255,) if high else (0,)
    for upper, lower, limit in itertools.product(
        _lists(range(high), most_high), _lists(range(high, levels), 3), limits
    ):
        table = VLArbTable(upper, lower, limit)
        packets = 1 if limit == 0 else -(-64 * limit // BLOCKS)
        part = Fraction(bool(upper)) if not (upper and lower) else Fraction(packets, packets + 1)
        shares = [Fraction(0)] * levels
        for entries, of_all in ((upper, part), (lower, 1 - part)):
            for entry in entries:
                shares[entry.vl] += of_all * entry.weight / sum(each.weight for each in entries)
        rows.append([*map(float, shares), *(longest_wait(table, vl, most=most) for vl in most)])
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "most_high"), [(30, 3), pytest.param(1000, 4, marks=pytest.mark.long)])
def test_random_wants_agree_with_every_small_table(count: int, most_high: int) -> None:
    """For random requests, a plan satisfies them, and without a plan no small table does."""
    source, met = random.Random(count), 0  # noqa: S311 - a repeatable choice
    for _ in range(count):
        levels = source.choice((2, 3))
        high, wanted = source.randint(0, levels), []
        for vl in range(levels):
            share = Fraction(source.randint(1, 60), 100) if source.random() < 0.7 else None
            waits = source.random() < (0.7 if vl < high else 0.15)
            wait = Fraction(source.randint(70, 1500) * 512, 100_000) if waits else None
            wanted.append(Wanted(vl, share, wait, vl < high))
        given = _what_tables_give(levels, high, most_high)
        enough = np.ones(len(given), bool)
        for vl, each in enumerate(wanted):
            enough &= given[:, vl] >= float(each.share or 0) - 1e-12
            if each.wait_us is not None:
                enough &= given[:, levels + vl] * BLOCK_US <= float(each.wait_us)
        try:
            plan = plan_vlarb(Wants(100.0, 4096, 4, tuple(wanted)))
        except InputError:
            plan = None
        if plan is None:
            assert not enough.any(), wanted
            continue
        met += 1
        shares = saturated_shares(plan.table, dict.fromkeys(range(levels), BLOCKS), data_vls=4)
        for each in plan.levels:
            assert float(each.share) == pytest.approx(shares[each.vl], abs=1e-12)
            assert each.share >= (each.wanted.share or 0)
            assert each.wanted.wait_us is None or each.wait_blocks * BLOCK_US <= each.wanted.wait_us
    assert count / 2 < met < count
