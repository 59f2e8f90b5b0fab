"""``vlane vlarb explain``: shares, wait bounds, starving levels, the page."""

from __future__ import annotations

import random
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.pages import assert_whole
from tests.conftest import DATA, assert_refused, call
from tests.planning.saturated import saturated_shares
from vlane.fabric.capture import load_fabric
from vlane.golden.schedulers import vlarb
from vlane.golden.schedulers.bank import new_scheduler
from vlane.golden.schedulers.heads import NO_WRITE, Heads
from vlane.planning.vlarb_waits import longest_wait
from vlane.schedulers.vlarb import VLArbEntry, VLArbTable
from vlane.schedulers.vlarb_service import saturated_service


def test_shares_are_those_of_the_lists() -> None:
    """Shares equal values computed by hand for whole packets, limits and unlisted lanes."""
    entries = (VLArbEntry(0, 33), VLArbEntry(1, 66))
    assert saturated_shares(VLArbTable(entries, (), 255), {0: 33, 1: 33}, data_vls=2) == {0: 1 / 3, 1: 2 / 3}
    assert saturated_shares(VLArbTable(entries, (), 255), {0: 20, 1: 33}, data_vls=2) == {0: 40 / 106, 1: 66 / 106}
    limited = VLArbTable((VLArbEntry(0, 1),), (VLArbEntry(1, 1),), 1)
    assert saturated_shares(limited, {0: 32, 1: 32}, data_vls=2) == {0: 2 / 3, 1: 1 / 3}
    assert saturated_shares(limited, {0: 32, 1: 32, 2: 1}, data_vls=3)[2] == 0
    starving = VLArbTable((VLArbEntry(0, 1),), (VLArbEntry(1, 1),), 255)
    assert saturated_shares(starving, {0: 32, 1: 32}, data_vls=2) == {0: 1, 1: 0}
    assert saturated_shares(VLArbTable((), (), 0), {0: 1}, data_vls=1) == {0: 0}


def period_of_golden(
    table: VLArbTable, sizes: Mapping[int, int], *, data_vls: int, most: int
) -> tuple[int, dict[int, int]]:
    """Return packets and blocks of each lane between two equal states of golden's arbiter, or 0 without service."""
    parameters: dict[str, Any] = {**table.shape(), "vl15": False}
    state = new_scheduler(
        "vlarb", data_vls=data_vls, writes=table.writes({**parameters, "data_vls": data_vls}), **parameters
    )
    blocks = np.zeros(data_vls + 1, np.int64)
    for lane, size in sizes.items():
        blocks[lane] = size
    heads = Heads(sum(1 << lane for lane in sizes), (1 << data_vls) - 1, blocks, 0, blocks)
    rules = np.zeros(vlarb.RULE_COUNT, np.int64)
    sent = dict.fromkeys(sizes, 0)
    seen: dict[bytes, tuple[int, dict[int, int]]] = {}
    for packets in range(most):
        key = state.regs.tobytes()
        if key in seen:
            before, counts = seen[key]
            return packets - before, {lane: count - counts[lane] for lane, count in sent.items()}
        seen[key] = packets, dict(sent)
        lane, _, granted = vlarb.step(state, heads, True, False, NO_WRITE, False, rules)
        if not granted:
            return 0, sent
        sent[int(lane)] += sizes[int(lane)]
    return -1, sent


def service_of(table: VLArbTable, sizes: Mapping[int, int]) -> tuple[int, dict[int, int]]:
    by_vl, sent = [sizes.get(vl, 0) for vl in range(16)], [0] * 16
    period = saturated_service(*table.columns(), by_vl, sent)
    return period, {vl: sent[vl] for vl in sizes}


@pytest.mark.parametrize("tables", [150, pytest.param(3000, marks=pytest.mark.long)])
def test_a_period_is_that_of_golden(tables: int) -> None:
    """Random tables and sizes: as many packets until the state repeats, and as many blocks of each lane."""
    source, compared, both = random.Random(tables), 0, 0  # noqa: S311 - repeatable
    for _ in range(tables):
        lists = [
            tuple(
                VLArbEntry(source.randrange(5), source.choice((0, 1, 2, 5, 9, 64))) for _ in range(source.randint(0, 5))
            )
            for _ in range(2)
        ]
        table = VLArbTable(lists[0], lists[1], source.choice((0, 0, 1, 2, 3, 255)))
        sizes = {vl: source.choice((1, 2, 5, 17)) for vl in range(4)}

        period, sent = service_of(table, sizes)

        by_golden, counts = period_of_golden(table, sizes, data_vls=4, most=20_000)
        if by_golden > 0:
            whole, of_golden = sum(sent.values()), sum(counts.values())
            assert {vl: blocks * of_golden for vl, blocks in sent.items()} == {
                vl: blocks * whole for vl, blocks in counts.items()
            }, table
            assert by_golden % period == 0, table
            compared += 1
            both += all(any(entry.weight for entry in each) for each in lists)
        assert by_golden != 0 or period == 0
    assert compared > tables // 2
    assert both > tables // 4


def test_a_long_period_is_exact() -> None:
    """The shipped capture's switches with VL 2 in full packets: 2,070,430 packets, of which VL 2 has 0.081 %."""
    tables = load_fabric(DATA / "two_switch").distinct_tables()
    table = next(each for each in tables if each.limit_of_high_priority == 10)

    period, sent = service_of(table, {0: 1, 1: 1, 2: 33, 3: 1})

    assert period == 2_070_430
    assert sent[2] / sum(sent.values()) == pytest.approx(0.000812234, abs=1e-9)
    done = call("vlarb", "explain", "--fabric", DATA / "two_switch", "--sls", "0,1,2,3").out
    assert "0.08 %" in done


def test_a_thousand_tables_take_little_time() -> None:
    """A thousand tables take half a second uncompiled on an idle machine. The limit allows a busy machine."""
    source, began = random.Random(9), time.process_time()  # noqa: S311 - repeatable
    for _ in range(1000):
        lists = [tuple(VLArbEntry(source.randrange(8), source.randint(0, 255)) for _ in range(16)) for _ in range(2)]
        table = VLArbTable(lists[0], lists[1], source.choice((0, 1, 2, 10, 254, 255)))
        service_of(table, {vl: source.choice((1, 9, 33, 65)) for vl in range(8)})
    assert time.process_time() - began < 2


OPTIONS = """qos TRUE
qos_high_limit 4
qos_vlarb_high 0:64
qos_vlarb_low 1:64,2:128
qos_sl2vl 0,1,2,15,15,15,15,15,15,15,15,15,15,15,15,15
"""


def explained_options(tmp_path: Path, text: str, *arguments: str) -> dict[str, Any]:
    file = tmp_path / "opensm.conf"
    file.write_text(text)
    return dict(call("vlarb", "explain", file, "--sls", "0,1,2", *arguments, "--json").json())


def test_options_alone_give_the_answer(tmp_path: Path) -> None:
    """Port types with equal tables are merged, and shares match the hand count of 4 High packets per Low packet."""
    done = explained_options(tmp_path, OPTIONS, "--mtu", "4096", "--vls", "8")

    (ports,) = done["ports"]
    assert ports["ports"] == ["switches", "adapters"]
    assert [level["share"] for level in ports["levels"]] == pytest.approx([4 / 5, 1 / 15, 2 / 15])
    assert ports["limit_source"] == "opensm.conf:2 qos_high_limit"
    assert (done["fabric"], done["conf"], done["remarks"], done["assumed"]) == (None, "opensm.conf", [], [])


def test_types_of_ports_are_apart_where_they_differ(tmp_path: Path) -> None:
    """An option of a port type separates the type. Routers appear only with router options."""
    done = explained_options(tmp_path, OPTIONS + "qos_ca_high_limit 255\nqos_rtr_high_limit 3\n")

    assert [(each["ports"], each["limit_of_high_priority"]) for each in done["ports"]] == [
        (["switches"], 4),
        (["adapters"], 255),
        (["routers"], 3),
    ]
    assert not done["ports"][1]["levels"][1]["served"]
    assert done["assumed"] == ["MTU 4096 (--mtu gives another)", "8 data lanes (--vls gives another number)"]


def test_what_opensm_reads_otherwise_is_remarked_once(tmp_path: Path) -> None:
    """Each difference from OpenSM is remarked once by code, line and effect, for the lanes of max_op_vls."""
    text = OPTIONS.replace("1:64,2:128", "1:64,9:256") + "max_op_vls 3\nqos_vlarb_mid 3:4\n"
    done = explained_options(tmp_path, text.replace("qos TRUE", "qos true"), "--mtu", "2048")

    assert [(each["code"], each["where"]) for each in done["remarks"]] == [
        ("OPTION_UNKNOWN", "opensm.conf:7 qos_vlarb_mid"),
        ("QOS_OFF", "opensm.conf"),
        ("VL_MASKED", "opensm.conf:4 qos_vlarb_low"),
        ("WEIGHT_WRAPPED", "opensm.conf:4 qos_vlarb_low"),
    ]
    assert done["assumed"] == []
    assert done["ports"][0]["low"] == [[1, 64]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["OPENSM_CONF is missing"]),
        (["{conf}", "--fabric", "x"], ["--fabric", "cannot be used with OPENSM_CONF"]),
        (["{conf}", "--mtu", "1500"], ["--mtu", "2048", "1500"]),
        (["{conf}", "--vls", "3"], ["--vls", "15", "3"]),
        (["{conf}.none"], ["opensm.conf.none"]),
        (["--fabric", str(DATA / "two_switch"), "--mtu", "2048"], ["--mtu", "cannot be used with --fabric"]),
    ],
)
def test_bad_uses_of_options_are_one_line(arguments: list[str], words: list[str], tmp_path: Path) -> None:
    """Exit status 2."""
    file = tmp_path / "opensm.conf"
    file.write_text(OPTIONS)
    assert_refused(call("vlarb", "explain", *(each.format(conf=file) for each in arguments)), *words)


@pytest.mark.parametrize(("held", "source"), [(16, "PortInfo"), (0, "OpenSM's default")])
def test_limits_that_ports_hold_go_first(held: int, source: str, tmp_path: Path) -> None:
    """VLHighLimit comes from PortInfo, unless all ports read 0. The source is named, and other ports keep theirs."""
    fabric = tmp_path / "fabric"
    shutil.copytree(DATA / "two_switch", fabric)
    (fabric / "opensm.conf").unlink()
    file = fabric / "smpquery-portinfo.txt"
    file.write_text(re.sub(r"(VLHighLimit:\.*)0", rf"\g<1>{held}", file.read_text()))

    done = call("vlarb", "explain", "--fabric", fabric, "--sls", "0,2", "--json").json()

    assert (held, source) in {(each["limit_of_high_priority"], each["limit_source"]) for each in done["ports"]}
    assert f"LimitOfHighPriority {held}, from {source}" in call("vlarb", "explain", "--fabric", fabric).out


def test_levels_of_a_fabric_are_explained_by_kinds_of_ports() -> None:
    """Ports with equal tables form one group, and every cabled port belongs to one group."""
    done = call("vlarb", "explain", "--fabric", DATA / "two_switch", "--sls", "0,1,2,3", "--json").json()

    assert len(done["ports"]) == 2
    names = [name for group in done["ports"] for name in group["ports"]]
    assert len(names) == len(set(names)) == 12
    for group in done["ports"]:
        table = VLArbTable(group["high"], group["low"], group["limit_of_high_priority"])
        assert [level["sl"] for level in group["levels"]] == [0, 1, 2, 3]
        assert sum(level["share"] for level in group["levels"]) == pytest.approx(1)
        for level in group["levels"]:
            assert level["share_least"] <= level["share"] <= level["share_most"]
            assert level["rate_gbps"] == pytest.approx(100 * level["share"])
            blocks = longest_wait(table, level["vls"][0], most=dict.fromkeys(range(4), 33))
            assert level["wait_bound_us"] == pytest.approx(blocks * 5.12 / 1000)


def test_levels_that_get_no_turn_are_told(tmp_path: Path) -> None:
    """Given an unbounded limit, levels without service are reported in text and on the page."""
    fabric = tmp_path / "fabric"
    shutil.copytree(DATA / "two_switch", fabric)
    conf = fabric / "opensm.conf"
    conf.write_text(conf.read_text().replace("qos_swe_high_limit 10", "qos_swe_high_limit 255"))
    asked = ["vlarb", "explain", "--fabric", fabric, "--sls", "0,1,2,3"]

    done = call(*asked, "--json").json()
    switches = next(group for group in done["ports"] if group["limit_of_high_priority"] == 255)
    assert [(level["served"], level["wait_bound_us"] is None) for level in switches["levels"]] == [
        (True, False),
        (True, False),
        (False, True),
        (False, True),
    ]
    told = call(*asked, "--page", tmp_path / "page")
    assert told.status == 0
    assert "SL 2: packets of this level get no turn here" in told.out
    page = tmp_path / "page" / "index.html"
    assert_whole(page)
    assert "Levels 2 and 3 get no turn at some ports under load." in page.read_text()
    assert "no bound" in told.out
    assert "no bound" in page.read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sls", "0,16"], ["--sls", "0 to 15", "16"]),
        (["--sls", "x"], ["--sls", "numbers"]),
        (["--rate", "fast"], ["--rate"]),
        (["--page", "{file}"], ["--page"]),
    ],
)
def test_bad_options_are_one_line(tmp_path: Path, options: list[str], words: list[str]) -> None:
    """Given bad options, the command prints one line and exits with 2."""
    file = tmp_path / "file"
    file.touch()
    given = [word.format(file=file) for word in options]
    assert_refused(call("vlarb", "explain", "--fabric", DATA / "two_switch", *given), *words)


def test_a_capture_without_tables_is_refused(tmp_path: Path) -> None:
    """Given a capture without arbitration tables, the error names the missing file."""
    fabric = tmp_path / "fabric"
    shutil.copytree(DATA / "two_switch", fabric)
    (fabric / "smpquery-vlarb.txt").unlink()
    assert_refused(call("vlarb", "explain", "--fabric", fabric), "--fabric", "smpquery-vlarb.txt")


def test_a_table_without_options_is_explained(tmp_path: Path) -> None:
    """Lines high, low, limit and sl2vl are read as a table. An unbounded limit and whole packets are remarked."""
    done = explained_options(
        tmp_path, "high 0:64\nlow 1:1,2:64\nlimit 255\nsl2vl 0,1,2\n", "--mtu", "4096", "--vls", "4"
    )

    (ports,) = done["ports"]
    assert (ports["high"], ports["low"], ports["limit_of_high_priority"]) == ([[0, 64]], [[1, 1], [2, 64]], 255)
    assert [level["share"] for level in ports["levels"]] == [1, 0, 0]
    assert [each["code"] for each in done["remarks"]] == ["SL2VL_SHORT", "STARVATION", "WEIGHT_BELOW_MTU"]


def test_a_table_next_to_options_is_ignored(tmp_path: Path) -> None:
    """Given any QoS option, OpenSM's rules hold: the lines high and low have no effect."""
    done = explained_options(tmp_path, f"{OPTIONS}high 5:64\nlimit 255\n", "--vls", "8")

    assert done["ports"][0]["high"] == [[0, 64]]
    assert done["ports"][0]["limit_of_high_priority"] == 4


@pytest.mark.parametrize(
    ("row", "sls", "verdict"),
    [
        ("0,1,2,15", "0,1,2,3", "Level 3 is dropped: SL2VL maps it to VL 15."),
        ("15,15,15,15", "0,1,2,3", "Levels 0, 1, 2 and 3 are dropped: SL2VL maps them to VL 15."),
        ("0,1,2,15", "0,1,2", "Every level has a bound on its wait."),
        ("0,1,5,15", "2,3", "Level 3 is dropped: SL2VL maps it to VL 15. Level 2 gets no turn under load."),
    ],
)
def test_a_dropped_level_is_in_the_verdict(row: str, sls: str, verdict: str, tmp_path: Path) -> None:
    """Given levels that send and are dropped, the page's verdict names these levels and no other level."""
    file = tmp_path / "table.conf"
    file.write_text(f"high 0:64\nlow 1:64,2:64\nlimit 1\nsl2vl {row}\n")

    call("vlarb", "explain", file, "--sls", sls, "--page", tmp_path / "page")

    assert f">{verdict}<" in (tmp_path / "page" / "index.html").read_text()


def test_a_level_dropped_at_one_kind_of_port_is_dropped_at_some_ports(tmp_path: Path) -> None:
    """Given SL 2 in VL 15 at adapters only, the verdict says that the level is dropped at some ports."""
    file = tmp_path / "opensm.conf"
    file.write_text(OPTIONS + "qos_ca_sl2vl 0,1,15\n")

    call("vlarb", "explain", file, "--sls", "0,1,2", "--page", tmp_path / "page")

    page = (tmp_path / "page" / "index.html").read_text()
    assert "Level 2 is dropped at some ports: SL2VL maps it to VL 15." in page


def test_levels_in_one_lane_are_named_together(tmp_path: Path) -> None:
    """Given SL 0 and SL 8 in VL 0, the table and the words say that both have one share."""
    file = tmp_path / "table.conf"
    file.write_text("low 0:64,1:64\nlimit 0\nsl2vl 0,1,0,0,0,0,0,0,0\n")

    told = call("vlarb", "explain", file, "--sls", "0,1,8", "--page", tmp_path / "page").out

    page = (tmp_path / "page" / "index.html").read_text()
    for text in ("0, with SL 8", "0, with SL 0"):
        assert text in told
        assert text in page
    assert "levels in one lane divide the share" in told
    assert "Gb/s of a full cable together with SL 8; a packet waits" in page
