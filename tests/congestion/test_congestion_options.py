"""OpenSM's congestion-control options: parsing, settings without effect, agreement with TOML keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import assert_refused, call
from vlane.fabric.capture import load_fabric
from vlane.fabric.check import check_fabric
from vlane.fabric.congestion_options import SLOptions, congestion_options
from vlane.fabric.dumps.opensm_conf import read_opensm_conf

CONF = """congestion_control TRUE
cc_sw_cong_setting_control_map 0x15
cc_sw_cong_setting_victim_mask 0x06
cc_sw_cong_setting_threshold 0x0c
cc_sw_cong_setting_packet_size 2
cc_sw_cong_setting_marking_rate 1
cc_ca_cong_setting_port_control 0x0000
cc_ca_cong_setting_control_map 0x3
cc_ca_cong_setting_ccti_timer 0 1
cc_ca_cong_setting_ccti_timer 1 2
cc_ca_cong_setting_ccti_increase 0 1
cc_ca_cong_setting_ccti_increase 1 1
cc_ca_cong_setting_trigger_threshold 0 2
cc_cct 3:0,3:8, 3:24,3:60
"""


def _conf(tmp_path: Path, text: str) -> Any:
    file = tmp_path / "opensm.conf"
    file.write_text(text)
    return congestion_options(read_opensm_conf(file))


def test_options_are_read(tmp_path: Path) -> None:
    """Options are parsed in both number bases, per SL and as lists.

    Settings excluded by a control map keep their defaults.
    """
    options = _conf(tmp_path, CONF)

    assert options.is_on
    assert options.in_force == (12, 2, 1, 6)
    assert options.level(0) == SLOptions(1, 1, 2, 0)
    assert options.level(1) == SLOptions(2, 1, 0, 0)
    assert options.cct == ((3, 0), (3, 8), (3, 24), (3, 60))
    without = _conf(tmp_path, CONF.replace("map 0x15", "map 0x1").replace("map 0x3", "map 0x2"))
    assert without.in_force == (0, 0, 0, 6)
    assert without.level(0) == SLOptions()
    assert _conf(tmp_path, "qos TRUE\n") is None


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("threshold 0x0c", "threshold 16", [":4 cc_sw_cong_setting_threshold", "16 is not", "0xf", "sends 0x0"]),
        ("packet_size 2", "packet_size two", [":5", "packet_size", "two", "ignores the line"]),
        ("packet_size 2", "packet_size 300", [":5", "300 is not a number, 0 to 0xff", "ignores the line"]),
        ("victim_mask 0x06", "victim_mask 0x0g", [":3", "hexadecimal digits", "ignores the line"]),
        ("ccti_timer 1 2", "ccti_timer 16 2", [":10", "16 2 is not an SL, 0 to 15", "ignores the line"]),
        ("ccti_timer 1 2", "ccti_timer 2", [":10", "2 is not an SL", "ignores the line"]),
        ("ccti_timer 1 2", "ccti_timer 257 2", [":10", "OpenSM reads 257 as SL 1"]),
        ("3:24", "4:24", [":14 cc_cct", "4:24 is not", "OpenSM sends 0:24"]),
        ("3:24", "3-24", [":14 cc_cct", "3-24", "ignores the line"]),
        ("3:24,3:60", "3:24 3:60", [":14 cc_cct", "3:24 3:60", "OpenSM sends 3:24"]),
        ("3:24", "0:0," * 130 + "3:24", [":14 cc_cct", "at most 128 entries", "OpenSM reads the first 128"]),
    ],
)
def test_values_that_opensm_ignores_or_cuts_are_found(old: str, new: str, words: list[str], capture_copy: Any) -> None:
    """Given values that OpenSM cuts, the check names line, option and effect, and a study refuses the file."""
    folder = capture_copy("two_switch")
    (folder / "opensm.conf").write_text(CONF.replace(old, new))

    found = [each for each in check_fabric(load_fabric(folder)).warnings if each.code == "OPTION_IGNORED"]

    assert len(found) == 1
    assert all(word in f"{found[0].where} {found[0].message}" for word in words), found


def test_numbers_are_read_as_opensm_reads_them(tmp_path: Path) -> None:
    """Masks are hexadecimal even without 0x, a leading 0 is octal, and a bad line keeps the earlier value."""
    text = CONF.replace("victim_mask 0x06", "victim_mask 10").replace("threshold 0x0c", "threshold 010")

    options = _conf(tmp_path, text + "cc_sw_cong_setting_packet_size x\ncc_cct 1:1,2\n")

    assert options.in_force == (8, 2, 1, 16)
    assert options.cct == ((3, 0), (3, 8), (3, 24), (3, 60))
    assert [fault.option.line for fault in options.faults] == [15, 16]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("control TRUE", "control FALSE", "CC_OFF"),
        ("threshold 0x0c", "threshold 0", "CC_NOTHING_MARKS"),
        ("map 0x15", "map 0x11", "CC_NOTHING_MARKS"),
        ("cc_cct 3:0,3:8, 3:24,3:60", "", "CC_NO_GAP"),
        ("cc_cct 3:0,3:8, 3:24,3:60", "cc_cct 3:0,0:0", "CC_NO_GAP"),
        ("victim_mask 0x06", "victim_mask 0x0", "CC_MASK_EMPTY"),
        ("control_map 0x3", "control_map 0x0", "CC_NO_SL"),
        ("ccti_timer 1 2", "ccti_timer 1 0", "CC_TIMER_0"),
        ("trigger_threshold 0 2", "trigger_threshold 0 4", "CC_CCT_SHORT"),
        ("trigger_threshold 0 2", "ccti_min 1 4", "CC_CCT_SHORT"),
    ],
)
def test_settings_that_cannot_work_are_found(old: str, new: str, code: str, capture_copy: Any) -> None:
    """Given an ineffective setting, ``fabric check`` reports its code. The unchanged set has none."""
    folder = capture_copy("two_switch")
    file = folder / "opensm.conf"
    before = file.read_text()

    def found(text: str) -> set[str]:
        file.write_text(before + text)
        return {each.code for each in check_fabric(load_fabric(folder)).warnings if each.code.startswith("CC_")}

    assert found(CONF) == found("") == set()
    assert code in found(CONF.replace(old, new))


def test_the_options_give_the_run_of_the_same_keys(tmp_path: Path) -> None:
    """OpenSM options and equal TOML keys give equal digests. A changed threshold changes the digest."""
    (tmp_path / "opensm.conf").write_text(CONF.replace("ccti_timer 1 2", "ccti_timer 1 1").replace("0x15", "0x14"))
    example = (Path(__file__).parent.parent.parent / "sim_top/configs/tree_cc_rtl.toml").read_text()
    head, rest = example.split("threshold = 12", 1)
    rest = rest[rest.index("[run]") :].replace("cycles = 100000", "cycles = 20000")
    keys = "threshold = 12\npacket_size = 2\nmarking_rate = 1\nccti_timer = 1\ntrigger_threshold = 2\nccti_limit = 3\n"
    keys += "cct = [[3, 0], [3, 8], [3, 24], [3, 60]]\n"
    digests = []
    for name, text in (("keys", keys), ("conf", 'opensm_conf = "opensm.conf"\n'), ("other", keys.replace("12", "6"))):
        file = tmp_path / f"{name}.toml"
        file.write_text(head + text + "busy_blocks = 64\nlevel_blocks = 128\n" + rest)
        called = call("simulate", file, "--out", tmp_path / name, "--json", "--set", "run.warm_up_cycles=1000")
        assert called.status == 0, called.err
        run = called.json()["runs"][0]
        assert run["congestion"]["marked"] > 10
        digests.append(run["digest"])
    assert digests[0] == digests[1] != digests[2]


def test_a_file_and_a_key_beside_it_are_refused(tmp_path: Path) -> None:
    """Given an OpenSM file and a TOML key for the same setting, the study is refused.

    A file with ``congestion_control FALSE`` is refused, too.
    """
    example = (Path(__file__).parent.parent.parent / "sim_top/configs/tree_cc_rtl.toml").read_text()
    file = tmp_path / "study.toml"
    (tmp_path / "opensm.conf").write_text(CONF)
    file.write_text(example.replace("threshold = 12", 'threshold = 12\nopensm_conf = "opensm.conf"'))
    assert_refused(
        call("simulate", file, "--out", tmp_path / "out"),
        "congestion.threshold",
        "cannot be used with opensm_conf, which sets it",
    )
    of_sl = 'opensm_conf = "opensm.conf"\n[[congestion.sl]]\nsl = 1\n\n'
    file.write_text(example.split("threshold = 12", 1)[0] + of_sl + example[example.index("[run]") :])
    assert_refused(
        call("simulate", file, "--out", tmp_path / "out"), "congestion.sl", "cannot be used with opensm_conf"
    )

    head, rest = example.split("threshold = 12", 1)
    file.write_text(head + 'opensm_conf = "opensm.conf"\n' + rest[rest.index("[run]") :])
    (tmp_path / "opensm.conf").write_text(CONF.replace("control TRUE", "control FALSE"))
    assert_refused(call("simulate", file, "--out", tmp_path / "out"), "opensm.conf", "congestion_control", "TRUE")


HOT = """[network]
topology = "dumbbell"
left = 4
right = 2

[buffers]
blocks = 1024

[scheduler]
name = "rr"

[congestion]
threshold = 15

[run]
loads = [1.0]
seeds = [1]
cycles = 20000
warm_up_cycles = 2000

[[traffic]]
sl = 0
bytes = 2074
hot_share = 1.0
hot_hosts = [4]
pattern = "others"
"""


@pytest.mark.slow
def test_settings_that_mark_nothing_are_remarked(tmp_path: Path) -> None:
    """Given a crossbar at link rate, the measured buffer never fills. A faster crossbar or the inputs mark."""
    file = tmp_path / "hot.toml"
    file.write_text(HOT)

    def run(*changes: str) -> tuple[int, list[str]]:
        sets = [word for change in changes for word in ("--set", change)]
        called = call("simulate", file, "--out", tmp_path / "out", "--json", *sets)
        assert called.status == 0, called.err
        done = called.json()
        return done["runs"][0]["congestion"]["marked"], done["remarks"]

    marked, (remark,) = run()
    assert marked == 0
    assert "switch.speed = 2" in remark
    assert 'congestion.measure = "inputs"' in remark
    assert "no packet was marked" in call("simulate", file, "--out", tmp_path / "out").out
    for change in ("switch.speed=2", "congestion.measure=inputs"):
        marked, remarks = run(change)
        assert marked > 0, change
        assert remarks == []
    marked, (remark,) = run("switch.speed=2", "congestion.threshold=0")
    assert marked == 0
    assert remark.endswith("no packet was marked: Threshold is 0")
