"""Refused congestion settings, active cycles of traffic classes, and loads above a host's link."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from tests.conftest import assert_refused, call
from vlane.congestion.cc_source import CCSourceParameters
from vlane.errors import InputError
from vlane.golden.network.pacing import Pacing
from vlane.sim_top.scenario.faults import check_faults
from vlane.sim_top.scenario.world import make_network, make_world
from vlane.study.congestion import CongestionSection
from vlane.study.model import read_study

STUDY = """[network]
topology = "tree"
k = 2
n = 2

[link]
data_vls = 2

[buffers]
blocks = 272
minimum_blocks = 136
maximum_blocks = 136

[congestion]
threshold = 2

[[traffic]]
load = 0.3

[run]
loads = [0.3]
cycles = 2000
warm_up_cycles = 500
"""
KEYS = (
    "opensm_conf, threshold, packet_size, marking_rate, victim_mask, credit_mask, cs_threshold, cs_return_delay, "
    "measure, busy_blocks, level_blocks, idle_blocks, "
    "port_control, ccti_increase, ccti_timer, ccti_limit, ccti_min, trigger_threshold, cct, pacing, shift_first, "
    "flows, cnp_interval_cycles, held_packets, port, sl, host, write"
)
INTERVAL = (
    "congestion.cnp_interval_cycles must be below {} (ccti_timer / ccti_increase), or the CCTI decreases between CNPs"
)
GIVEN = "threshold = 2\n"
TRAFFIC = "load = 0.3\n"
HALF = "[[traffic]]\nload = 0.6\nhosts = [1]\n"


def written(folder: Path, old: str, new: str) -> Path:
    """Write the study with ``old`` replaced by ``new``."""
    assert old in STUDY
    file = folder / "study.toml"
    file.write_text(STUDY.replace(old, new, 1))
    return file


def test_unchanged_study_is_accepted(tmp_path: Path) -> None:
    """The unchanged study is accepted, so each refusal below is due to its change."""
    made = make_network(make_world(read_study(written(tmp_path, GIVEN, GIVEN)), tmp_path), load=0.3, seed=1)
    assert isinstance(made.pacing, Pacing)


def test_a_nic_has_as_many_flows_as_the_block_of_the_source_can_have() -> None:
    """A study offers exactly the flow counts the source block supports."""
    chosen = get_args(CongestionSection.model_fields["flows"].annotation)
    assert chosen == tuple(CCSourceParameters(flows=flows).flows for flows in (8, 16, 32, 64, 128, 256))
    for flows in (4, 512):
        with pytest.raises(InputError):
            CCSourceParameters(flows=flows)


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("threshold = 16", "15: congestion.threshold must be at most 15, not 16"),
        ("treshold = 2", f"15: congestion.treshold: unknown key (known: {KEYS}); did you mean threshold?"),
        ("cycles = 3", f"15: congestion.cycles: unknown key (known: {KEYS}); did you mean run.cycles?"),
        ('victim_mask = "some"', "15: congestion.victim_mask must be one of none, hosts, all, not some"),
        ('measure = "input"', "15: congestion.measure must be one of output, inputs, not input; did you mean inputs?"),
        ("cs_threshold = 16", "15: congestion.cs_threshold must be at most 15, not 16"),
        ("cs_return_delay = [4, 0]", "15: congestion.cs_return_delay.0 must be a shift, 0 to 3, not 4"),
        (
            "cs_return_delay = [3, 16384]",
            "15: congestion.cs_return_delay.1 must be a multiplier, 0 to 16383, not 16384",
        ),
        (
            "cs_return_delay = [4]",
            "15: congestion.cs_return_delay must be a list of at least 2 elements, not 1 element",
        ),
        ('credit_mask = "some"', "15: congestion.credit_mask must be one of none, hosts, all, not some"),
        ("flows = 12", "15: congestion.flows must be one of 8, 16, 32, 64, 128, 256, not 12"),
        ("flows = 4", "15: congestion.flows must be one of 8, 16, 32, 64, 128, 256, not 4"),
        ("port_control = 2", "15: congestion.port_control must be one of 0, 1, not 2"),
        ("held_packets = 0", "15: congestion.held_packets must be at least 1, not 0"),
        ("marking_rate = 65536", "15: congestion.marking_rate must be below 65536, not 65536"),
        ("level_blocks = 1000", "15: congestion.level_blocks must be at least busy_blocks, 1024, not 1000"),
        ("busy_blocks = 2049", "14: congestion.level_blocks must be at least busy_blocks, 2049, not 2048"),
        ("cct = [[0, 0], [1, 5]]", "14: congestion.ccti_limit must be at most 1, the last entry of the CCT, not 127"),
        ("ccti_limit = 128", "15: congestion.ccti_limit must be at most 127, the last entry of the CCT, not 128"),
        ("ccti_min = 128", "15: congestion.ccti_min must be at most ccti_limit, 127, not 128"),
        ("ccti_limit = 3\nccti_min = 4", "16: congestion.ccti_min must be at most ccti_limit, 3, not 4"),
        ("cct = [[4, 0]]", "15: congestion.cct.0.0 must be a shift, 0 to 3, not 4"),
        ("cct = [[0, 0],\n [0, 16384]]", "16: congestion.cct.1.1 must be a multiplier, 0 to 16383, not 16384"),
        ("cct = [[0, 0, 0]]", "15: congestion.cct.0 must be a list of at most 2 elements, not 3 elements"),
        ("cct = []", "15: congestion.cct must be a list of at least 1 element, not 0 elements"),
        (
            "ccti_timer = 0",
            (
                "15: congestion.ccti_timer must be at least 1 with a ccti_increase (with 0, "
                "the CCTI never stays raised), not 0"
            ),
        ),
        ("cnp_interval_cycles = 2000", f"15: {INTERVAL.format(2000)}, not 2000"),
        ("ccti_increase = 4\ncnp_interval_cycles = 600", f"16: {INTERVAL.format(500)}, not 600"),
    ],
)
def test_settings_that_cannot_work_are_refused(new: str, said: str, tmp_path: Path) -> None:
    """Given a setting that cannot work, the error names the key's line, or the section's if absent."""
    file = written(tmp_path, GIVEN, f"{new}\n")

    with pytest.raises(InputError) as told:
        read_study(file)

    assert str(told.value) == f"{file}:{said}"


PORT, SL, HOST, WRITE = (f"{GIVEN}[[congestion.{name}]]\n" for name in ("port", "sl", "host", "write"))
NEXT = "[[congestion.write]]\n"
PORT_KEYS = "switch, port, threshold, packet_size, marking_rate, cs_threshold, cs_return_delay"


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (f"{PORT}port = 1\n", "16: congestion.port.0.switch is missing"),
        (f"{PORT}switch = 0\nport = 0\n", "18: congestion.port.0.port must be at least 1, not 0"),
        (
            f"{PORT}switch = 0\nport = 1\nvictim_mask = 1\n",
            f"19: congestion.port.0.victim_mask: unknown key (known: {PORT_KEYS})",
        ),
        (
            f"{PORT}switch = 0\nport = 1\n[[congestion.port]]\nswitch = 0\nport = 1\n",
            "21: congestion.port.1.port: switch 0, port 1 already has a [[congestion.port]] above",
        ),
        (
            f"{PORT}switch = 0\nport = 1\nthreshold = 3\ncs_threshold = 4\n",
            ("20: congestion.port.0.cs_threshold cannot be used with threshold: a port has a single control type"),
        ),
        (
            f"{PORT}switch = 0\nport = 1\ncs_return_delay = [0, -1]\n",
            "19: congestion.port.0.cs_return_delay.1 must be a multiplier, 0 to 16383, not -1",
        ),
        (
            f"{WRITE}cycle = 5\nswitch = 0\nport = 1\nmarking_rate = 3\ncs_threshold = 4\n",
            ("21: congestion.write.0.cs_threshold cannot be used with marking_rate: a port has a single control type"),
        ),
        (
            f'{WRITE}cycle = 5\nswitch = 0\nport = 1\ncredit_mask = "all"\n',
            ("20: congestion.write.0.credit_mask cannot be used with port: it applies to the whole switch"),
        ),
        (f"{SL}sl = 16\n", "17: congestion.sl.0.sl must be below 16, not 16"),
        (
            f"{SL}sl = 3\n[[congestion.sl]]\nsl = 3\n",
            "19: congestion.sl.1.sl: SL 3 already has a [[congestion.sl]] above",
        ),
        (
            f"{SL}sl = 3\nccti_timer = 0\n",
            (
                "18: congestion.sl.0.ccti_timer must be at least 1 with a ccti_increase (with 0, "
                "the CCTI never stays raised), not 0"
            ),
        ),
        (f"{SL}sl = 3\nccti_min = 128\n", "18: congestion.sl.0.ccti_min must be at most ccti_limit, 127, not 128"),
        (f"{HOST}ccti_min = 1\n", "16: congestion.host.0.hosts is missing"),
        (
            f"{HOST}hosts = []\nccti_min = 1\n",
            "17: congestion.host.0.hosts must be a list of at least 1 element, not 0 elements",
        ),
        (f"{HOST}hosts = [-1]\nccti_min = 1\n", "17: congestion.host.0.hosts.0 must be at least 0, not -1"),
        (
            f"{HOST}hosts = [1, 1]\nccti_min = 1\n",
            "17: congestion.host.0.hosts must be a list without repeated hosts, not [1, 1]",
        ),
        (f"{HOST}hosts = [1]\n", "16: congestion.host.0 has no settings; give for example ccti_increase or cct"),
        (
            f"{HOST}hosts = [1]\nsl = 3\nccti_min = 1\nccti_limit = 3\n",
            "20: congestion.host.0.ccti_limit cannot be used with sl: it applies to the whole host",
        ),
        (
            f"{HOST}hosts = [1, 2]\nccti_min = 1\n[[congestion.host]]\nhosts = [2]\nccti_min = 2\n",
            "20: congestion.host.1.hosts: host 2 already has a [[congestion.host]] above",
        ),
        (
            f"{HOST}hosts = [1]\nsl = 3\nccti_min = 1\n[[congestion.host]]\nhosts = [1]\nsl = 3\nccti_min = 2\n",
            "21: congestion.host.1.hosts: host 1 already has a [[congestion.host]] for SL 3 above",
        ),
        (
            f"{HOST}hosts = [1]\nccti_timer = 0\n",
            (
                "18: congestion.host.0.ccti_timer must be at least 1 with a ccti_increase (with 0, "
                "the CCTI never stays raised), not 0"
            ),
        ),
        (
            f"{HOST}hosts = [1]\ncct = [[0, 0]]\n",
            "16: congestion.host.0.ccti_limit must be at most 0, the last entry of the CCT, not 127",
        ),
        (f"{HOST}hosts = [1]\ncct = [[4, 0]]\n", "18: congestion.host.0.cct.0.0 must be a shift, 0 to 3, not 4"),
        (
            f"{HOST}hosts = [1]\nccti_limit = 3\n[[congestion.host]]\nhosts = [1]\nsl = 2\nccti_min = 4\n",
            "22: congestion.host.1.ccti_min must be at most ccti_limit, 3, not 4",
        ),
        (
            f"{WRITE}cycle = 5\nhosts = [1]\nthreshold = 3\n",
            (
                "18: congestion.write.0.hosts cannot be used without one of ccti_timer, ccti_increase, "
                "trigger_threshold, ccti_min, ccti_limit, port_control, cct"
            ),
        ),
        (
            f"{HOST}hosts = [1]\nccti_limit = 3\n{NEXT}cycle = 5\nccti_min = 4\n",
            "21: congestion.write.0.ccti_min must be at most ccti_limit, 3, not 4",
        ),
        (f"{WRITE}cycle = 5\n", "16: congestion.write.0 has no settings; give for example threshold or ccti_increase"),
        (f"{WRITE}cycle = 5\nport = 1\nthreshold = 3\n", "18: congestion.write.0.port cannot be used without switch"),
        (
            f"{WRITE}cycle = 5\nthreshold = 3\nvalid = false\n",
            "19: congestion.write.0.valid cannot be false without port",
        ),
        (
            f'{WRITE}cycle = 5\nswitch = 0\nport = 1\nvictim_mask = "all"\n',
            ("20: congestion.write.0.victim_mask cannot be used with port: it applies to the whole switch"),
        ),
        (
            f"{WRITE}cycle = 5\nswitch = 0\nccti_limit = 3\n",
            "19: congestion.write.0.ccti_limit cannot be used with switch: it applies to hosts",
        ),
        (
            f"{WRITE}cycle = 5\nsl = 3\nccti_limit = 3\n",
            (
                "18: congestion.write.0.sl cannot be used without one of ccti_timer, ccti_increase, "
                "trigger_threshold, ccti_min"
            ),
        ),
        (
            f"{WRITE}cycle = 5\nccti_limit = 128\n",
            "18: congestion.write.0.ccti_limit must be at most 127, the last entry of the CCT, not 128",
        ),
        (
            f"{WRITE}cycle = 9\nccti_increase = 2\n{NEXT}cycle = 8\nccti_increase = 0\nccti_timer = 0\n",
            "16: congestion.write.0.ccti_timer must be at least 1 with a ccti_increase",
        ),
        (f"{WRITE}cycle = 5\ncct = [[4, 0]]\n", "18: congestion.write.0.cct.0.0 must be a shift, 0 to 3, not 4"),
    ],
)
def test_parts_and_writes_that_cannot_work_are_refused(new: str, said: str, tmp_path: Path) -> None:
    """Given an invalid element or write, the error names the line of its key or table."""
    file = written(tmp_path, GIVEN, new)

    with pytest.raises(InputError) as told:
        read_study(file)

    assert str(told.value).startswith(f"{file}:{said}")


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (f"{PORT}switch = 4\nport = 1\n", "congestion.port.0.switch must be 0 to 3, not 4"),
        (
            f"{PORT}switch = 0\nport = 5\n",
            "congestion.port.0.port must be a port of switch 0 with a cable (ports count from 1), not 5",
        ),
        (f"{WRITE}cycle = 5\nswitch = 4\nthreshold = 1\n", "congestion.write.0.switch must be 0 to 3, not 4"),
        (
            f"{WRITE}cycle = 5\nswitch = 0\nport = 5\nthreshold = 1\n",
            "congestion.write.0.port must be a port of switch 0 with a cable (ports count from 1), not 5",
        ),
        (f"{HOST}hosts = [3, 4]\nccti_min = 1\n", "congestion.host.0.hosts must be host numbers from 0 to 3, not 4"),
        (
            f"{WRITE}cycle = 5\nhosts = [4]\nccti_min = 1\n",
            "congestion.write.0.hosts must be host numbers from 0 to 3, not 4",
        ),
        (f"{WRITE}cycle = 2000\nthreshold = 1\n", "congestion.write.0.cycle must be below the run's cycles, 2000"),
        (
            f"{WRITE}cycle = 5\nthreshold = 1\nmarking_rate = 1\n{NEXT}cycle = 6\nswitch = 2\nthreshold = 2\n",
            "congestion.write.1.cycle: another write of switch 2 is still in progress in cycle 6",
        ),
    ],
)
def test_writes_to_missing_switches_or_ports_are_refused(new: str, said: str, tmp_path: Path) -> None:
    """Given a write to a switch or port outside the network, the study is refused before a run."""
    world = make_world(read_study(written(tmp_path, GIVEN, new)), tmp_path)

    with pytest.raises(InputError) as told:
        check_faults(world)

    assert said in str(told.value)


@pytest.mark.parametrize(
    "new", ["ccti_timer = 0\nccti_increase = 0", "cnp_interval_cycles = 1999", "busy_blocks = 2048"]
)
def test_settings_at_the_border_are_taken(new: str, tmp_path: Path) -> None:
    """Settings exactly at their limits are accepted."""
    assert read_study(written(tmp_path, GIVEN, f"{new}\n")).congestion is not None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[link]\n", '[switch]\nkind = "opa"\n[link]\n', "congestion cannot be used with switch.kind opa"),
        (
            "[link]\n",
            '[switch]\ncrossbar = "flits"\n[link]\n',
            "switch.crossbar must be multiplexed or per_vl with [congestion], not flits",
        ),
        (
            "threshold = 2\n",
            'cs_threshold = 1\n[switch]\ncrossbar = "per_vl"\n',
            "switch.crossbar must be multiplexed with credit_mask or cs_ keys, not per_vl",
        ),
    ],
)
def test_switches_without_congestion_control_are_refused(old: str, new: str, said: str, tmp_path: Path) -> None:
    """Given an Omni-Path switch or flit-wise crossbar, congestion control is refused."""
    with pytest.raises(InputError) as told:
        read_study(written(tmp_path, old, new))

    assert said in str(told.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "maximum_blocks = 136",
            "maximum_blocks = 136\n[[traffic]]\nbytes = 2240\nload = 0.0",
            ("maximum_blocks of VL 0 must be at least 140 with congestion control (four largest packets), not 136"),
        ),
        (
            "data_vls = 2",
            "data_vls = 2\nrate_gbps = 4000",
            ("link.rate_gbps must be such that 1.024 us are 64 to 4096 cycles with [congestion], not 4000.0"),
        ),
    ],
)
def test_networks_too_small_for_congestion_control_are_refused(old: str, new: str, said: str, tmp_path: Path) -> None:
    """Given buffers or rates too small for congestion control, the study is refused before a run."""
    study = read_study(written(tmp_path, old, new))

    with pytest.raises(InputError) as told:
        make_network(make_world(study, tmp_path), load=0.3, seed=1)

    assert said in str(told.value)


def test_several_cores_are_refused(tmp_path: Path) -> None:
    """Given ``--cores 2`` with congestion control, the run is refused and writes no output."""
    file = written(tmp_path, GIVEN, GIVEN)

    done = call("simulate", str(file), "--cores", "2", "--out", str(tmp_path / "out"))

    assert_refused(done, "cores must be 1 with congestion control, not 2")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("active_cycles = [500, 500]", "19: traffic.0.active_cycles must be [from, to] with from < to, not ["),
        (
            "active_cycles = [500]",
            "19: traffic.0.active_cycles must be [from, to] or a list of them, cycles from 0 on, not [500]",
        ),
        (
            "active_cycles = [-1, 9]",
            "19: traffic.0.active_cycles must be [from, to] or a list of them, cycles from 0 on, not [-1, 9]",
        ),
        (
            "active_cycles = 5",
            "19: traffic.0.active_cycles must be [from, to] or a list of them, cycles from 0 on, not 5",
        ),
        ("active_cycle = [0, 5]", "19: traffic.0.active_cycle: unknown key"),
    ],
)
def test_active_cycles_that_are_none_are_refused(new: str, said: str, tmp_path: Path) -> None:
    """Given active cycles other than two ascending numbers, the study is refused."""
    file = written(tmp_path, TRAFFIC, f"{TRAFFIC}{new}\n")

    with pytest.raises(InputError) as told:
        read_study(file)

    assert str(told.value).startswith(f"{file}:{said}")


LOADS = "loads = [0.3]"


@pytest.mark.parametrize(
    ("traffic", "loads", "said"),
    [
        ("", "[1.1]", "run.loads.0 must be at most 1.0, not 1.1"),
        (HALF, "[0.9, 1.0]", "run.loads must be 0.9, the sum of the classes' own loads, not 1.0"),
        (
            f"{HALF}{HALF.replace('1]', '1, 2]')}",
            "[1.5]",
            "with load 1.5, host 1 sends 1.5 flits per cycle; the limit is 1",
        ),
        (
            f"{HALF}active_cycles = [0, 100]\n{HALF}active_cycles = [99, 200]\n",
            "[1.5]",
            "run.loads.0: with load 1.5, host 1 sends 1.5 flits per cycle; the limit is 1",
        ),
    ],
)
def test_loads_above_what_a_host_can_send_are_refused(traffic: str, loads: str, said: str, tmp_path: Path) -> None:
    """Given loads that exceed a host's link at some time, the study is refused."""
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace(TRAFFIC, f"{TRAFFIC}{traffic}").replace(LOADS, f"loads = {loads}"))

    with pytest.raises(InputError) as told:
        read_study(file)

    assert said in str(told.value)


def test_classes_that_take_turns_in_time_may_load_a_host_with_more_than_1(tmp_path: Path) -> None:
    """Classes with disjoint active cycles may sum to a load above 1."""
    classes = f"{HALF}active_cycles = [0, 100]\n{HALF}active_cycles = [100, 200]\n"
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace(TRAFFIC, f"{TRAFFIC}{classes}").replace(LOADS, "loads = [1.5]"))

    assert len(read_study(file).traffic) == 3
