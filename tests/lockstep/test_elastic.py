"""Elastic comparison, own goldens and policies, on hand-written cycles and on the arbiters of ``tb/arbiters``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.conftest import ROOT
from tests.lockstep.elastic_designs import BUGS, closed, variants
from tests.lockstep.planted_arbiters import STORED, not_found, summary
from vlane.dut_map import ElasticTiming, Last, StartUp, Strobe, Timing
from vlane.dut_policy import Policy, read_policy
from vlane.errors import InputError
from vlane.sim_top.blocks import find_block
from vlane.sim_top.cli.main import app
from vlane.sim_top.dut.elastic import Elastic
from vlane.sim_top.dut.findings import Failure, Sample
from vlane.sim_top.dut.goldens import (
    BlockGolden,
    Decided,
    OwnGolden,
    Rotated,
    idle_of,
    reachable_rules,
    read_own_golden,
)
from vlane.sim_top.dut.policies import Monitors
from vlane.tb.arbiters.later_plants import NOT_FOUND
from vlane.tb.arbiters.plants import ARBITERS, PLANTS

FIELDS = {"data_vls": 4, "requesters": 0, "vl15": False}
RESET = Sample(1, 0, 0, 0, 0)


class Turns:
    """Round robin of four lanes. The state is the first lane of the search."""

    initial = 0
    lanes = 4

    def decide(self, state: int, requests: int) -> tuple[int | None, int]:
        """Return the next requesting lane."""
        for step in range(4):
            lane = (state + step) % 4
            if requests >> lane & 1:
                return lane, (lane + 1) % 4
        return None, state


def sample(requests: int, ready: int = 1, grant: int = 0, **other: int) -> Sample:
    return Sample(0, requests, ready, int(grant > 0), grant, **other)


def checker(*, stand: bool = True, gated: bool = False, idle: str = "nothing", **timing: object) -> Elastic:
    told = ElasticTiming.model_validate({"mode": "elastic", **timing})
    return Elastic(OwnGolden(Turns(), 4), told, stand=stand, gated=gated, idle=idle)


def judged(check: Elastic | Monitors, cycles: Iterable[Sample]) -> Failure | None:
    """Return the first failure of some cycles after a reset."""
    check.cycle(RESET)
    return next((found for each in cycles if (found := check.cycle(each)) is not None), None)


def start(**other: object) -> Elastic:
    return checker(decision="start", hold="until_release", **other)


def test_a_held_grant_is_a_single_decision() -> None:
    """A grant that is held over several cycles steps golden once, and its release frees the module."""
    check = start()

    found = judged(check, [sample(3, 0, 1), sample(7, 0, 1), sample(7, 1, 1), sample(6, 1, 2), sample(4, 1, 4)])

    assert found is None
    assert (check.decisions, check.most_states, check.loose) == (3, 1, 0)


def test_a_grant_that_changes_before_its_release_is_a_failure() -> None:
    """A held grant that moves or disappears without ready is reported. Without hold, a change is a new decision."""
    moves = [sample(3, 0, 1), sample(3, 0, 2)]

    assert "lane 0 is not released, but lane 1" in str(judged(start(), moves))
    assert "no grant is shown" in str(judged(start(), [sample(1, 0, 1), sample(1, 0, 0)]))
    free = checker(decision="start")
    assert judged(free, moves) is None
    assert free.decisions == 2


def test_a_wrong_winner_names_state_and_requests() -> None:
    """The failure of a wrong winner shows golden's state, the requests and golden's winner."""
    found = judged(checker(), [sample(0b1111, 1, 1), sample(0b1110, 1, 4)])

    assert found is not None
    assert (found.cycle, found.kind, found.expected) == (2, "decision", 1)
    assert str(found) == "cycle 2: grant 2; golden: state 1, requests 1110 (+0): lane 1"
    assert [each.winner for each in found.decisions] == [0, 2]


def test_a_window_accepts_each_of_its_sampling_points_once() -> None:
    """A decision may use any sampling point of the window, but none at or before the previous decision's."""
    late = [sample(2, 0), sample(3, 0), sample(3, 1, 2), sample(3, 1, 1)]

    assert judged(start(latency=[1, 2], at_most=4), late) is None
    assert judged(start(latency=1, at_most=4), late) is not None
    once = [sample(3, 0), sample(3, 1, 1), sample(2, 1, 0), sample(2, 1, 2)]
    assert judged(start(latency=[1, 3], at_most=4), once) is None
    again = [sample(1, 0), sample(1, 1, 1), sample(0, 1, 1)]
    assert judged(start(latency=[2, 2], at_most=4), again) is not None


def test_lanes_may_be_sampled_in_different_cycles() -> None:
    """With ``lanes = "each"`` a decision may combine requests of several cycles of the window."""
    cycles = [sample(0b0011, 0), sample(0b0100, 0), sample(0b0100, 0, 0b0010)]

    together = checker(stand=False, decision="start", latency=[1, 2], at_most=9)
    each = checker(stand=False, decision="start", latency=[1, 2], lanes="each", at_most=9)
    assert judged(together, cycles) is not None
    assert judged(each, cycles) is None
    with pytest.raises(ValueError, match="width of 1 to 8"):
        start(latency=3, lanes="each")


def test_ambiguous_decisions_keep_several_states_and_count_as_loose() -> None:
    """States that could both explain a decision are kept, and a later decision prunes them."""
    check = checker(decision="start", latency=[1, 2], at_most=9)
    cycles = [sample(0b0001, 0), sample(0b1111, 0), sample(0b1111, 0, 1)]

    assert judged(check, cycles) is None
    assert check.loose == 0
    loose = checker(decision="start", stand=False, latency=[1, 2], at_most=9)
    assert judged(loose, [sample(0b0010, 0), sample(0b0001, 0), sample(0b0001, 0, 1)]) is None
    assert loose.loose == 1


def test_sampling_strobe_fixes_the_sampling_point() -> None:
    """With a strobe, only the requests of the strobe's cycle explain the decision."""
    cycles = [sample(0b0010, 0, sampled=1), sample(0b0011, 0), sample(0b0011, 1, 0b0010)]

    assert judged(start(latency={"strobe": "s"}, at_most=5), cycles) is None
    wrong = [*cycles[:2], sample(0b0011, 1, 0b0001)]
    assert "requests 0010 (-2): lane 1" in str(judged(start(latency={"strobe": "s"}, at_most=5), wrong))


def test_decision_strobe_marks_the_events() -> None:
    """With a decision strobe golden steps at the strobe, and a strobe without a grant is a failure."""
    check = checker(decision={"strobe": "d"}, hold="until_release")
    cycles = [sample(3, 0, 1, decided=1), sample(3, 1, 1), sample(2, 1, 2, decided=1)]

    assert judged(check, cycles) is None
    assert check.decisions == 2
    assert "without a grant" in str(judged(checker(decision={"strobe": "d"}), [sample(3, 1, 0, decided=1)]))
    unmarked = checker(decision={"strobe": "d"}, hold="until_release")
    assert "without a decision strobe" in str(judged(unmarked, [sample(1, 1, 1)]))


def test_a_decision_that_stays_away_is_due() -> None:
    """A request that stands while the module is free must be decided within ``at_most`` idle cycles."""
    waiting = [sample(1, 1)] * 3

    found = judged(checker(at_most=2), waiting)
    assert found is not None
    assert (found.kind, found.cycle) == ("due", 3)
    assert judged(checker(at_most=3), waiting) is None
    assert judged(start(latency=1), [sample(1), sample(1, 1, 0)]) is not None
    assert judged(start(latency=1), [sample(1), sample(1, 1, 1)]) is None


def test_no_decision_is_due_during_start_up() -> None:
    """The start-up is counted from the reset, or from the release of its last decision."""
    waiting = [sample(1, 1)] * 3

    assert judged(checker(start_up={"cycles": 3}), waiting) is None
    assert judged(checker(start_up={"cycles": 2}), waiting) is not None
    one = checker(start_up={"cycles": 2, "decisions": 1})
    assert judged(one, [*waiting, sample(1, 1, 1), *waiting[:2]]) is None
    assert one.cycle(sample(1, 1)) is not None


def test_first_lane_forgotten_order_and_proposals() -> None:
    """``first`` rotates the lanes, ``forgets`` restores the order, and ``proposals`` compares untaken grants."""
    rotated = Rotated(OwnGolden(Turns(), 4), 1)

    assert rotated.decide(0, 0b1111).winner == 1
    assert rotated.decide(0, 0b0001).winner == 0
    pause = [sample(0b0001, 1, 1), sample(0), sample(0), sample(0b0011, 1, 1)]
    assert judged(checker(forgets=2), pause) is None
    assert judged(checker(), pause) is not None
    assert "shows a grant to lane 1; golden: lane 0" in str(judged(checker(proposals="golden"), [sample(3, 0, 2)]))


def test_module_without_reset_may_begin_in_any_state() -> None:
    """Without a reset the first decisions determine golden's state, and later ones must follow from it."""

    def made() -> Elastic:
        return Elastic(OwnGolden(Turns(), 4), ElasticTiming(mode="elastic"), has_reset=False)

    def first(grants: list[int]) -> Failure | None:
        check = made()
        return next((found for grant in grants if (found := check.cycle(sample(15, 1, grant))) is not None), None)

    assert first([4, 8, 1]) is None
    assert first([4, 1]) is not None


def test_bench_is_blamed_for_a_withdrawn_request() -> None:
    """A request that falls before its grant is the bench's fault, unless the map says that requests may fall."""
    falls = [sample(3, 0, 1), sample(1, 0, 1)]

    found = judged(start(), falls)
    assert found is not None
    assert found.kind == "bench"
    assert "lane 1 before its grant was taken" in str(found)
    assert judged(start(stand=False), falls) is None


def test_grants_name_one_lane_and_wait_for_ready() -> None:
    """A grant of two lanes, of none, or without ready where the map demands ready, is a failure."""
    assert "names lanes 0, 1" in str(judged(checker(), [sample(3, 1, 3)]))
    assert "names no lane" in str(judged(checker(), [Sample(0, 3, 1, 1, 0)]))
    assert "without ready" in str(judged(checker(ready="request"), [sample(1, 0, 1)]))


def test_the_last_beat_releases_a_burst() -> None:
    """A burst is a single decision that its last beat releases, and a change inside the burst is a failure."""
    timing = {"release": {"last": "l"}, "hold": "until_release"}
    beats = [sample(3, 1, 1, last=0), sample(3, 0, 0, last=0), sample(3, 1, 1, last=1)]

    check = checker(**timing)
    assert judged(check, [*beats, sample(2, 1, 2, last=2)]) is None
    assert check.decisions == 2
    assert "lane 0 is not released" in str(judged(checker(**timing), [beats[0], sample(3, 1, 2, last=2)]))


def test_idle_cycles_step_golden_only_if_the_block_does() -> None:
    """Golden steps in cycles without requests if ``idle`` says so, and may have stepped with ``either``."""

    class Ages(Turns):
        def decide(self, state: int, requests: int) -> tuple[int | None, int]:
            found, after = super().decide(state, requests)
            return found, after if requests else (state + 1) % 4

    def made(idle: str) -> Elastic:
        return Elastic(OwnGolden(Ages(), 4), ElasticTiming(mode="elastic"), idle=idle)

    cycles = [sample(0), sample(0b0011, 1, 0b0010)]
    assert judged(made("decides"), cycles) is None
    assert judged(made("either"), cycles) is None
    assert judged(made("nothing"), cycles) is not None
    assert [idle_of(find_block(name), {}) for name in ("rr", "wrr", "drr", "scfq")] == ["nothing"] * 2 + ["decides"] * 2


def test_more_than_64_states_end_the_run() -> None:
    """A golden with too many possible states is refused with the cycle."""

    class Counts(Turns):
        def decide(self, state: int, requests: int) -> tuple[int | None, int]:
            return (0 if requests & 1 else None), state + 1

    check = Elastic(OwnGolden(Counts(), 4), ElasticTiming(mode="elastic"), idle="either")
    with pytest.raises(InputError, match="more than 64 states in cycle 64"):
        judged(check, [sample(0)] * 100)


def test_block_golden_decides_like_its_oracle() -> None:
    """The memoised golden of a block follows the rules of its page, with the ids of its rules."""
    golden = BlockGolden(find_block("rr"), FIELDS, [1] * 4)

    first = golden.decide(golden.initial, 0b1010)
    assert first == Decided(1, first.after, ("moved_on", "skipped"))
    assert golden.decide(first.after, 0b1010).winner == 3
    assert golden.rule_ids()["moved_on"] == "RR-1"
    assert golden.shown(golden.initial) == "as after reset"
    reached = reachable_rules(golden, idle=False)
    assert reached is not None
    assert {"moved_on", "same_again"} <= reached
    assert "vl15_first" not in reached


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "class A:\n    initial = 0\n    def decide(self, s, r):\n        return 1 / 0, s\n",
            r"golden.py:4: .*ZeroDivision",
        ),
        (
            "class A:\n    initial = 0\n    def decide(self, s, r):\n        return 3, s\n",
            r"a lane that requests \(0001\)",
        ),
        ("class A:\n    initial = []\n    def decide(self, s, r):\n        return 0, s\n", "hashable"),
        ("class A:\n    pass\n", "exactly one class with a method decide; found: none"),
        ("def broken(:\n", r"golden.py:1: --golden: "),
        ("import absent_module\n", r"golden.py:1: --golden: ModuleNotFoundError"),
        ("import sys\nsys.exit(0)\n", r"golden.py:2: --golden: SystemExit: 0"),
        (
            "class A:\n    initial = 0\n    def decide(self, s, r):\n        raise SystemExit(0)\n",
            r"golden.py:4: decide \(0, 0001\) raised SystemExit: 0",
        ),
    ],
)
def test_bad_own_golden_is_refused_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    """A golden that fails, or returns a winner without a request, is refused with file and line."""
    file = tmp_path / "golden.py"
    file.write_text(text)

    with pytest.raises(InputError, match=said):
        read_own_golden(file, 4).decide(0, 1)


def test_prints_of_an_own_golden_go_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Given a golden that prints while it is loaded and while it decides, stdout stays free for the result."""
    file = tmp_path / "golden.py"
    decide = "        print('decides')\n        return None, state\n"
    file.write_text(f"print('loads')\nclass A:\n    initial = 0\n    def decide(self, state, requests):\n{decide}")

    read_own_golden(file, 4).decide(0, 1)

    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "loads\ndecides\n")


def monitors(limits: dict[str, object], **timing: object) -> Monitors:
    told = ElasticTiming.model_validate({"mode": "elastic", **timing}) if timing else Timing()
    return Monitors(Policy.model_validate(limits), told, 4, gated=False, has_reset=True)


@pytest.mark.parametrize(
    ("limits", "cycles", "kind"),
    [
        ({"wait": 1}, [sample(3, 1, 1)] * 2, "wait"),
        ({"idle": 1}, [sample(1)] * 2, "idle"),
        ({"starve": 2}, [sample(1)] * 3, "starve"),
        ({"shares": [1, 1, 1, 1], "window": 4}, [sample(15, 1, 1)] * 4, "shares"),
        ({}, [sample(1, 1, 2)], "requester only"),
        ({}, [sample(3, 1, 3)], "one-hot"),
    ],
)
def test_each_policy_is_violated_by_its_fault(limits: dict[str, object], cycles: list[Sample], kind: str) -> None:
    """Each policy reports its own fault in the first cycle beyond its limit, and not before."""
    found = judged(monitors(limits), cycles)

    assert found is not None
    assert (found.kind, found.cycle) == (kind, len(cycles))
    assert judged(monitors(limits), cycles[:-1]) is None


def test_omitted_policies_are_measured() -> None:
    """A policy without a limit has a worst value and its coverage."""
    check = monitors({})

    assert judged(check, [sample(3, 1, 1), sample(3, 1, 1), sample(2, 1, 2)]) is None
    assert (check.lines["wait"].worst, check.lines["wait"].coverage, check.lines["wait"].limit) == (2, 2, None)
    assert "shares" not in check.lines


def test_held_grant_is_a_policy() -> None:
    """The hold of a map is checked without a golden."""
    check = monitors({}, decision="start", hold="until_release")

    found = judged(check, [sample(3, 0, 1), sample(3, 0, 2)])
    assert found is not None
    assert found.kind == "hold"


def test_all_errors_of_a_policy_are_reported_together(tmp_path: Path) -> None:
    """A policy file with two wrong keys names both, with their lines."""
    (tmp_path / "p.toml").write_text('wait = "3"\nidle = -1\n')

    with pytest.raises(InputError, match=r"p.toml:1: wait must be a whole number") as caught:
        read_policy(tmp_path / "p.toml")
    assert caught.value.details == (f"{tmp_path}/p.toml:2: idle must be at least 0, not -1",)


OWN_RR = """
class Turns:
    initial = 0

    def decide(self, state, requests):
        for step in range(4):
            lane = (state + step) % 4
            if requests >> lane & 1:
                return lane, (lane + 1) % 4
        return None, state
"""
REGISTERED = [each.name for each in PLANTS if each.arbiter == "registered"]


@pytest.mark.slow
def test_registered_arbiter_agrees_and_its_planted_bugs_are_found(tmp_path: Path) -> None:
    """The registered arbiter agrees, each planted bug is found at default settings, and policies find fewer."""
    good = closed(tmp_path, "registered", cycles=20_000).run()
    own = closed(tmp_path, "registered", cycles=5000, golden=OWN_RR).run()
    found = {name: closed(tmp_path, "registered", name).run().failure for name in REGISTERED}
    limits = Policy(wait=3, idle=1)
    seen = [
        bug for bug in REGISTERED if closed(tmp_path, "registered", bug, cycles=20_000, policy=limits).run().failure
    ]

    assert good.passed
    assert own.passed
    assert good.decisions > 5000
    assert good.resets > 10
    assert good.unreachable == ["idle", "held", "vl15_first"]
    assert [name for name, failure in found.items() if failure is None] == []
    assert 5 <= len(seen) < len(REGISTERED)


@pytest.mark.slow
def test_command_explains_the_difference_and_writes_a_wave(tmp_path: Path) -> None:
    """The command reports states, requests and rule of a wrong decision, and a wave with golden's signals."""
    bug = 1 + REGISTERED.index("turn-skips-a-lane")
    closed(tmp_path, "registered", "turn-skips-a-lane")
    (tmp_path / "registered.sv").write_text(variants("registered"))
    (tmp_path / "policy.toml").write_text("wait = 3\n")
    words = ["cosim", "rr", "--dut", str(tmp_path / "registered.sv"), "--top", "registered"]
    words += ["--map", str(tmp_path / "map.toml"), "--cycles", "3000"]

    called = CliRunner().invoke(app, [*words, "--waves", str(tmp_path / "wave.fst"), "--json"])
    text = CliRunner().invoke(app, words)
    policy = CliRunner().invoke(app, [*words, "--policy", str(tmp_path / "policy.toml"), "--json"])

    assert f"bug = {bug}" in (tmp_path / "map.toml").read_text()
    found = json.loads(called.stdout)
    assert (called.exit_code, found["verdict"], found["mode"]) == (1, "difference", "elastic")
    last = found["failure"]["decisions"][-1]
    assert last["attempts"][0]["rules"] == ["RR-1"]
    assert last["winner"] != last["attempts"][0]["winner"]
    assert found["before"][-1]["cycle"] == found["failure"]["cycle"]
    assert "decisions, with golden's answer for each state and sampling point" in text.stdout
    wave = next(file for file in (tmp_path / "wave.vcd", tmp_path / "wave.fst") if file.is_file())
    shown = Path(f"{wave}.gtkw").read_text()
    assert "golden.mismatch" in shown
    assert "TOP.req[3:0]" in shown
    assert "variable_add golden.winner" in Path(f"{wave}.surfer").read_text()
    if wave.suffix == ".vcd":
        vcd = wave.read_text()
        assert f"#{10 * found['failure']['cycle']}\n" in vcd
        assert vcd.count("1golden2\n") == 1
    assert (policy.exit_code, json.loads(policy.stdout)["verdict"]) == (1, "violation")


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("arbiter", ARBITERS)
def test_no_false_alarm_in_ten_seeds_and_every_plant_is_found(arbiter: str, tmp_path: Path) -> None:
    """Each arbiter agrees in ten seeds, and default settings find every planted bug except the listed ones."""
    bugs = [each.name for each in BUGS[arbiter]]
    alarms = [failure for seed in range(1, 11) if (failure := closed(tmp_path, arbiter, seed=seed).run().failure)]
    missed = [bug for bug in bugs if closed(tmp_path, arbiter, bug).run().failure is None]

    assert len(bugs) >= 24
    assert alarms == []
    assert missed == [bug for each, bug in NOT_FOUND if each == arbiter]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("arbiter", ARBITERS)
def test_a_bug_at_every_65536th_grant_is_found_with_a_million_cycles(arbiter: str, tmp_path: Path) -> None:
    """Given a wrong grant after 65,535 right ones, a run of 1,000,000 cycles reports a decision."""
    failure = closed(tmp_path, arbiter, "grant-65536-is-wrong", cycles=1_000_000).run().failure

    assert failure is not None
    assert failure.kind == "decision"
    assert failure.cycle > 65_536


def test_page_has_the_stored_results_of_all_planted_bugs() -> None:
    """The tables of the page are those of the stored results, which have every planted bug."""
    results = json.loads(STORED.read_text())
    page = (ROOT / "docs" / "elastic.md").read_text()

    stored = {(arbiter, bug) for arbiters in results.values() for arbiter, bugs in arbiters.items() for bug in bugs}
    assert stored == {(arbiter, bug.name) for arbiter, bugs in BUGS.items() for bug in bugs}
    assert len(not_found(results)) == 2 + len(NOT_FOUND)
    for table in (summary(results), not_found(results)):
        assert "\n".join(table) in page


def test_timing_sections_have_their_own_ports() -> None:
    """The ports that a timing names are known to the wiring."""
    made: Callable[..., ElasticTiming] = ElasticTiming
    told = made(mode="elastic", decision=Strobe(strobe="d"), latency=Strobe(strobe="s"), release=Last(last="l"))

    assert told.ports == ["d", "s", "l"]
    assert told.window == (0, 0)
    assert made(mode="elastic", latency=[2, 5], start_up=StartUp(cycles=3)).window == (2, 5)
