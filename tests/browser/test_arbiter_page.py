"""The page in the browser: its functions equal the command's, the build is reproducible, bad input gives one line."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser.page_module import PageModule
from tests.conftest import DATA, ROOT, call
from vlane.fabric.dumps.opensm_conf import PLACE, opensm_options
from vlane.fabric.model import Kind
from vlane.fabric.option_findings import line_findings, list_findings, off_findings, reduced_findings
from vlane.fabric.options.rules import data_vls
from vlane.golden.schedulers.bank import new_scheduler
from vlane.golden.schedulers.by_name import module_of
from vlane.golden.schedulers.heads import NO_WRITE, Heads
from vlane.planning.vlarb_waits import longest_wait
from vlane.schedulers.registry import SCHEDULERS
from vlane.schedulers.vlarb import VLArbEntry, VLArbTable
from vlane.sim_top.browser import build, memory, wasm
from vlane.sim_top.browser.memory import LANES
from vlane.sim_top.fabric.vlarb_explained import explain_options

CONFS = sorted(DATA.glob("*/opensm.conf"))
KINDS = {Kind.SWITCH: "switches", Kind.CA: "adapters", Kind.ROUTER: "routers"}
NEEDS_COMPILER = pytest.mark.skipif(not wasm.has_compiler(), reason="ziglang is not installed: make env")


@pytest.fixture(scope="module")
def module() -> wasm.Module:
    return wasm.compile_module()


@pytest.fixture(scope="module")
def page(module: wasm.Module) -> PageModule:
    return PageModule(module)


def levels_of(document: dict[str, Any], gbps: float = 100.0) -> list[tuple[Any, ...]]:
    """Return the levels of a group of ports of the command, with the waits in blocks."""
    waits = [each["wait_bound_us"] for each in document["levels"]]
    blocks = [-1 if wait is None else round(wait * gbps * 1000 / 512) for wait in waits]
    names = ("share", "share_least", "share_most")
    return [
        (each["sl"], *each["vls"], *(each[name] for name in names), wait)
        for each, wait in zip(document["levels"], blocks, strict=True)
    ]


@NEEDS_COMPILER
@pytest.mark.parametrize("conf", CONFS, ids=[each.parent.name for each in CONFS])
@pytest.mark.parametrize("vls", [0, 1, 4, 15])
def test_a_shipped_capture_has_the_numbers_of_the_command(page: PageModule, conf: Path, vls: int) -> None:
    """Given the options of a shipped capture, tables, levels and findings equal ``vlarb explain --json``."""
    given = ("--vls", str(vls)) if vls else ()
    document = call("vlarb", "explain", conf, "--json", "--sls", "0,1,2,3,9", "--mtu", "2048", *given).json()

    notes = []
    for kind, name in KINDS.items():
        group = next((each for each in document["ports"] if name in each["ports"]), None)
        if group is None:
            continue
        found = page.analyse(conf.read_bytes(), kind=PLACE[kind], vls=vls, sls=[0, 1, 2, 3, 9], mtu=2048)
        assert found["levels"] == levels_of(group)
        assert (found["high"], found["low"]) == (group["high"], group["low"])
        assert found["limit"] == group["limit_of_high_priority"]
        for code, line, option, message in found["notes"]:
            where = f"opensm.conf:{line} {option}".rstrip() if line else ", ".join(group["ports"])
            notes.append((code, "opensm.conf" if code == "QOS_OFF" else where, message))
    remarks = [(each["code"], each["where"], each["message"]) for each in document["remarks"]]
    assert sorted(set(notes)) == sorted(remarks)


@NEEDS_COMPILER
@pytest.mark.parametrize(
    ("high", "low", "lists"), [("0:1,1:99", "0:1", 1), ("0:64", "1:1,2:99", 2), ("0:1,1:99", "1:1,2:99", 3)]
)
def test_lists_with_shares_of_whole_packets_have_a_line_and_a_name(
    page: PageModule, high: str, low: str, lists: int
) -> None:
    """Given weights below a packet in one list or both, the facts have these lists with lines and names of options."""
    text = f"qos TRUE\nqos_ca_vlarb_high {high}\nqos_vlarb_low {low}\n".encode()
    found = page.analyse(text, kind=PLACE[Kind.CA], sls=[0, 1, 2])

    facts, data = page.read("facts").tolist(), page.read("options.text").tobytes()
    assert "WEIGHT_BELOW_MTU" in [each[0] for each in found["notes"]]
    assert facts[memory.WEIGHT_LISTS] == lists
    assert (facts[memory.HIGH_LINE], facts[memory.LOW_LINE]) == (2, 3)
    assert data[facts[memory.HIGH_FROM] : facts[memory.HIGH_TO]] == b"qos_ca_vlarb_high"
    assert data[facts[memory.LOW_FROM] : facts[memory.LOW_TO]] == b"qos_vlarb_low"


def random_text(source: random.Random) -> str:
    """Return options with numbers of all bases and sizes, blanks, quotes, missing parts and unknown names."""

    def number() -> str:
        plain = str(source.randrange(18))
        return source.choice((plain, plain, "0x1F", "010", "256", "-1", "", " 3", "3 ", "x", "18446744073709551616"))

    def pairs() -> str:
        return "".join(
            f"{number()}{source.choice('::::, ')}{number()}{source.choice(',,,,;')}"
            for _ in range(source.choice((1, 3, 8, 70)))
        )

    names = [f"qos_{kind}{name}" for kind in ("", "ca_", "swe_", "rtr_") for name in ("vlarb_high", "vlarb_low")]
    lines = [f"{source.choice(names)} {source.choice(('', chr(39)))}{pairs()}" for _ in range(4)]
    lines += [f"qos_{source.choice(('', 'swe_'))}high_limit {number()}", f"max_op_vls {number()}"]
    lines += [f"qos_sl2vl {','.join(number() for _ in range(source.choice((3, 16))))}", "qos TRUE", "qos_hihg 3"]
    source.shuffle(lines)
    return "\n".join(lines)


@NEEDS_COMPILER
def test_random_options_have_the_results_of_python(page: PageModule) -> None:
    """Given 150 random texts, the translated functions return tables, levels and findings of the Python functions."""
    source = random.Random(61)  # noqa: S311 - repeatable
    for _ in range(150):
        text, kind = random_text(source), source.choice(list(KINDS))
        conf = opensm_options("opensm.conf", text)
        vls = source.choice((0, 1, 2, 4, 8, 15))

        found = page.analyse(text.encode(), kind=PLACE[kind], vls=vls, sls=range(16))

        lanes = data_vls(conf.parsed, vls)
        expected = [*line_findings(conf), *off_findings(conf)]
        expected += [*list_findings(conf, kind), *reduced_findings(conf, kind, lanes)]
        assert found["data_vls"] == lanes
        assert [each[3] for each in found["notes"]][: len(expected)] == [each.message for each in expected]
        for group in explain_options(conf, range(16), mtu=4096, data_vls=lanes):
            if KINDS[kind] in group.names:
                waits = [-1 if each.wait_blocks == float("inf") else each.wait_blocks for each in group.levels]
                assert found["levels"] == [
                    (each.sl, *each.vls, each.share, each.least, each.most, wait)
                    for each, wait in zip(group.levels, waits, strict=True)
                ]


def random_table(source: random.Random) -> VLArbTable:
    high, low = (
        tuple(
            VLArbEntry(source.randrange(8), source.choice((0, 1, 9, 64, 200, 255))) for _ in range(source.randrange(7))
        )
        for _ in range(2)
    )
    return VLArbTable(high, low, source.choice((0, 1, 2, 10, 255)))


def table_text(table: VLArbTable) -> str:
    high, low = (",".join(f"{vl}:{weight}" for vl, weight in each) for each in (table.high, table.low))
    return f"high {high}\nlow {low}\nlimit {table.limit_of_high_priority}\n"


def differing_tables(page: PageModule, count: int) -> int:
    """Return how many of ``count`` random tables have another order, list, wait or share than golden."""
    source, differ, vls = random.Random(7), 0, range(8)  # noqa: S311 - repeatable
    module = module_of("vlarb")
    blocks = np.full(16, 65, np.int64)
    heads, rules = Heads(255, 255, blocks, 0, blocks), np.zeros(module.RULE_COUNT, np.int64)
    for _ in range(count):
        table = random_table(source)
        found = page.analyse(table_text(table).encode(), kind=PLACE[Kind.SWITCH], vls=8, sls=vls)
        order = page.serve(vls, 60)
        state = module.make_state(data_vls=15, entries=8)
        module.load(state, table)
        golden = []
        for _ in range(60):
            lane, from_list, granted = module.step(state, heads, True, False, NO_WRITE, False, rules)
            if granted:
                golden.append((lane, from_list))
        waits = [longest_wait(table, vl, most=dict.fromkeys(vls, 65)) for vl in vls]
        shown = [float("inf") if level[5] < 0 else level[5] for level in found["levels"]]
        differ += order != golden or shown != waits or found["limit"] != table.limit_of_high_priority
    return differ


@NEEDS_COMPILER
def test_a_thousand_random_tables_are_served_as_by_golden(page: PageModule) -> None:
    """Given 1,000 random tables, order, lists and waits equal golden's arbiter and the command's bounds."""
    assert differing_tables(page, 1000) == 0


@NEEDS_COMPILER
def test_a_planted_mutant_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given 63 instead of 64 blocks per unit of the limit, the comparison of random tables fails."""
    text, arrays = wasm.program_text()
    changed = re.sub(r"(_LIMIT_BLOCKS = )64;", r"\g<1>63;", text)
    assert changed != text
    monkeypatch.setattr(wasm, "program_text", lambda: (changed, arrays))

    assert differing_tables(PageModule(wasm.compile_module()), 60) > 5


@NEEDS_COMPILER
@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers_are_golden(page: PageModule, name: str) -> None:
    """Given weights and packet sizes, the first 200 packets of each scheduler are those of golden's model."""
    weights, sizes, scheduler = {0: 3, 2: 9, 5: 40}, [65, 65, 1, 65, 65, 20], SCHEDULERS[name]
    page.write("weights", [weights.get(lane, 0) for lane in range(16)])
    page.write("blocks", [*sizes, *[0] * 10])

    assert page.call(f"contest_{name}", 200, 200) == 200

    least, write = min(weights.values()), scheduler.weight_write
    writes = [write(place, *each, least) for place, each in enumerate(weights.items())] if write else []
    entries = 64 if name == "vlarb" else LANES
    parameters = scheduler.switch_parameters(entries, line_rate=False)
    state = new_scheduler(name, data_vls=15, writes=writes, **parameters)
    module, blocks = module_of(name), np.array([*sizes, *[0] * 10], np.int64)
    heads, rules = Heads(0b100101, 0b100101, blocks, 0, blocks), np.zeros(module.RULE_COUNT, np.int64)
    order: list[int] = []
    while len(order) < 200:
        lane, _, granted = module.step(state, heads, True, False, NO_WRITE, False, rules)
        order += [lane] * granted
    assert page.read("order")[:200].tolist() == order
    assert page.read("sent")[:6].tolist() == [order.count(vl) * sizes[vl] for vl in range(6)]


@NEEDS_COMPILER
def test_cycles_stalls_credits_and_swaps(page: PageModule) -> None:
    """A packet occupies the link, stalls delay it, lanes without credit wait, a swap follows the next decision."""
    page.analyse(b"low 0:1,1:1\nlimit 0\n", kind=2, vls=2, sls=[0, 1], mtu=256)
    page.call("start")

    lanes = [page.call("cycle", 3, 3, 0, 0) for _ in range(11)]
    assert lanes == [0, *[-1] * 4, 1, *[-1] * 4, 0]
    assert [page.call("cycle", 3, 3, 1, 0) for _ in range(20)] == [-1] * 20
    assert [page.call("cycle", 3, 3, 0, 0) for _ in range(4)] == [-1] * 4
    assert page.call("cycle", 3, 1, 0, 0) == 0
    page.analyse(b"low 1:1\nlimit 0\n", kind=2, vls=2, sls=[0, 1], mtu=256)
    page.call("write_table")
    assert [page.call("cycle", 1, 1, 0, swap) for swap in (1, 0, 0, 0)] == [-1] * 4
    assert page.call("cycle", 1, 1, 0, 0) == 0
    assert [page.call("cycle", 1, 1, 0, 0) for _ in range(10)] == [-1] * 10


@NEEDS_COMPILER
@pytest.mark.parametrize(
    "text",
    [
        "",
        "#" * 200_000,
        "qos_vlarb_low " + "1:2," * 50_000,
        "qos TRUE\n" * 20_000,
        "q" * 200_000,
        "qos\n" * 60_000,
        "qos_high_limit " + "9" * 1000 + "\nqos_vlarb_low " + "9" * 400 + ":" + "9" * 400,
        "qos_vlarb_low '0:<b>1</b>'\n<script>alert(1)</script>\n",
        "qos_sl2vl 0,1",
        "qos_vlarb_hi",
        "\x00\xff\u2028" * 1000,
    ],
    ids=lambda text: text[:16],
)
def test_any_text_gives_a_verdict(page: PageModule, text: str) -> None:
    """Given long, cut and strange texts, the result has 4 levels, and equals the Python functions' findings."""
    data = text.encode()
    found = page.analyse(data, kind=2, sls=[0, 1, 2, 3])

    assert len(found["levels"]) == 4
    table = opensm_options("opensm.conf", text).configured(Kind.SWITCH).table(8)
    assert found["high"] == [list(entry) for entry in table.high]
    assert found["low"] == [list(entry) for entry in table.low]


@NEEDS_COMPILER
def test_two_builds_are_equal(module: wasm.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given an empty cache and another folder, a second build writes the same bytes, and the module imports nothing."""
    monkeypatch.setattr(wasm, "cache_dir", lambda _: tmp_path)

    again = wasm.compile_module()

    assert again.code == module.code
    assert build.page_text(again) == build.page_text(module)
    assert PageModule(module).imports == []


@NEEDS_COMPILER
def test_the_page_is_one_file_without_addresses(module: wasm.Module) -> None:
    """The page loads nothing, and its data cannot end the script."""
    text = build.page_text(module)

    assert re.findall(r"(?:src|href)=\"?(?!data:)[^\"\s>]+", text) == []
    assert text.count("</script>") == 2
    assert not re.search(r"https?://(?!www\.w3\.org)", text)
    assert len(text) < 200_000


def test_a_missing_compiler_is_named() -> None:
    """Without ziglang, one line names the package and the command that installs it."""
    code = "import sys; sys.modules['ziglang'] = None; import runpy; sys.argv = ['x', 'out']; "
    code += "runpy.run_module('vlane.sim_top.browser', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "the page in the browser needs an extra" in done.stderr
    assert "pip install 'vlane[page]'" in done.stderr
