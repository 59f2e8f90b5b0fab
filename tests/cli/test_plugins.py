"""Plug-ins: discovery, checks, and invalidation after changes."""

from __future__ import annotations

import json
import linecache
import pickle
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vlane
import vlane.plugins
from tests.conftest import ROOT, assert_refused, call, call_apart, long_but
from tests.network.networks import switches_passed
from vlane.documents.refusal import checked
from vlane.errors import InputError
from vlane.golden.topologies.topology import tree
from vlane.sim_top.scenario.path_checks import check_world
from vlane.sim_top.scenario.world import make_network, make_world
from vlane.study.model import plugins_named, read_study, study_model
from vlane.study.study import Study

PACKAGE = ROOT / "docs" / "examples" / "vlane_example_plugins"
DRAGONFLY, LONGEST, ROTATION = (
    PACKAGE / "vlane_example_plugins" / f"{name}.py" for name in ("dragonfly", "longest_first", "rotation")
)
RUN = "\n[[traffic]]\nsl = 0\n\n[run]\nloads = [0.3]\nseeds = [1]\ncycles = 600\nwarm_up_cycles = 100\n"
RR = """import vlane

@vlane.scheduler("mine", memory=1)
class Mine:
    @staticmethod
    def choose(active, waiting, sizes, weights, memory):
        n = len(sizes)
        for step in range(n):
            requester = (memory[0] + step) % n
            if (active >> requester) & 1:
                return requester
        return -1

    @staticmethod
    def sent(chosen, sizes, weights, memory):
        memory[0] = (chosen + 1) % len(sizes)
"""


@pytest.fixture(autouse=True)
def _nothing_registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run each test with an empty plug-in registry."""
    monkeypatch.setattr(vlane.plugins, "_registered", {})
    monkeypatch.setattr(vlane.plugins, "_loaded", {})
    yield
    for name in [name for name in sys.modules if name.startswith(("vlane_plugin_", "vlane_example_plugins"))]:
        del sys.modules[name]


def study_file(folder: Path, text: str) -> Path:
    """Return a study file with the given text, default traffic and a short run."""
    file = folder / "study.toml"
    file.write_text(text + RUN)
    return file


def plugin_file(folder: Path, text: str, name: str = "plugin.py") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def dragonfly_study(folder: Path, more: str = "a = 2\nh = 1\np = 2\n") -> Path:
    return study_file(folder, f'[network]\ntopology = "dragonfly"\n{more}')


def test_a_topology_and_its_routing_make_a_network(tmp_path: Path) -> None:
    """The example topology and its routing form a network with minimal paths between all hosts.

    Each path uses at most one cable between groups, and each SL uses two VLs.
    """
    vlane.load_plugin(DRAGONFLY)
    world = make_world(read_study(dragonfly_study(tmp_path, "a = 4\nh = 2\np = 2\n")), tmp_path)
    check_world(world)

    assert (world.topology.switches, len(world.topology.hosts), world.data_vls) == (36, 72, 2)
    assert set(np.unique(switches_passed(world.topology, world.routes))) == {1, 2, 3, 4}


@pytest.mark.parametrize(("a", "h"), [(2, 1), (3, 1), (4, 2), (5, 3), (2, 4)])
def test_every_pair_of_groups_has_one_cable(a: int, h: int) -> None:
    """Given the example dragonfly of any size, each pair of groups has exactly one cable."""
    vlane.load_plugin(DRAGONFLY)
    made = vlane.plugins.plugins_of("topology")["dragonfly"].made(a, h)

    between = [{one[0] // a, other[0] // a} for one, other in made.cables if one[0] // a != other[0] // a]
    groups = a * h + 1
    assert len(between) == len({frozenset(each) for each in between}) == groups * (groups - 1) // 2


def test_keys_are_checked_as_those_of_vlanes_own_topologies(tmp_path: Path) -> None:
    """Given a bad key of a plug-in's topology, the error names file, line, key and fix."""
    for more, words in (
        ("a = 1\nh = 1\n", ("study.toml:3: network.a must be at least 2, not 1",)),
        ("a = 4\n", ("network.h is missing",)),
        ("a = 4\nh = 2\nq = 2\n", ("network.q: unknown key (known: ",)),
        ('a = 4\nh = 2\nrouting = "dragonfly_minmal"\n', ("did you mean dragonfly_minimal?",)),
    ):
        assert_refused(call("simulate", dragonfly_study(tmp_path, more), "--plugin", DRAGONFLY), *words)


def test_a_word_of_a_plugin_that_is_not_loaded_is_unknown(tmp_path: Path) -> None:
    """Given a topology of a plug-in that is not loaded, the study is refused.

    A study file never loads code.
    """
    (tmp_path / "dragonfly.py").write_text(DRAGONFLY.read_text())

    called = call_apart("simulate", dragonfly_study(tmp_path), cwd=tmp_path)

    assert_refused(called, "network.topology must be one of tree, fat_tree, torus", "not dragonfly")


def test_entry_points_of_the_working_directory_are_not_loaded(tmp_path: Path) -> None:
    """Entry points of packages in the working directory are not loaded."""
    info = installed(tmp_path)
    here, there = (call_apart("simulate", dragonfly_study(tmp_path), cwd=folder) for folder in (info.parent, tmp_path))

    for called in (here, there):
        assert_refused(called, "network.topology must be one of")


def installed(folder: Path) -> Path:
    """Return the metadata folder of the example package, installed in a folder."""
    shutil.copytree(PACKAGE / "vlane_example_plugins", folder / "site" / "vlane_example_plugins")
    info = folder / "site" / "vlane_example_plugins-1.0.dist-info"
    info.mkdir()
    text = (PACKAGE / "pyproject.toml").read_text()
    section = text.partition('[project.entry-points."vlane.plugins"]')[2].partition("[tool")[0].replace('"', "")
    (info / "entry_points.txt").write_text(f"[vlane.plugins]{section}")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vlane-example-plugins\nVersion: 1.0\n")
    return info


def test_installed_plugins_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plug-ins of installed packages are loaded once, by entry point."""
    monkeypatch.syspath_prepend(str(installed(tmp_path).parent))

    study = read_study(dragonfly_study(tmp_path))

    assert [each.name for each in plugins_named(study)] == ["dragonfly", "dragonfly_minimal"]
    assert list(vlane.plugins.plugins_of("pattern")) == ["rotation"]
    assert [each.shown for each in vlane.plugins.origins()] == [
        f"installed {name}"
        for name in ("by_input", "dragonfly", "longest_first", "oldest_first", "read_ahead", "rotation")
    ]


def test_an_installed_plugin_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given an installed plug-in that fails, the error names its file and line."""
    info = installed(tmp_path)
    broken = info.parent / "vlane_example_plugins" / "rotation.py"
    broken.write_text("import vlane\n\nnonsense()\n")
    monkeypatch.syspath_prepend(str(info.parent))

    assert_refused(call("simulate", dragonfly_study(tmp_path)), f"{broken}:3: plug-in failed with NameError")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 / 0\n", ("plugin.py:1: plug-in failed with ZeroDivisionError",)),
        ("import vlane\n\ndef (:\n", ("plugin.py:3: plug-in failed with SyntaxError",)),
        ("raise SystemExit(0)\n", ("plug-in failed with SystemExit",)),
        ("x = 1\n", ("plug-in: no plug-in is registered",)),
        (
            'import vlane\n@vlane.pattern("tornado")\ndef f(h, t): return 0\n',
            ("pattern 'tornado': vlane itself uses this name",),
        ),
        (RR.replace('"mine"', '"vlarb"'), ("scheduler 'vlarb': vlane itself uses this name",)),
        (
            'import vlane\n@vlane.pattern("a b")\ndef f(h, t): return 0\n',
            ("name of a pattern must be letters, digits and _",),
        ),
        ('import vlane\n@vlane.pattern("x")\n@vlane.pattern("x")\ndef f(h, t): return 0\n', ("is registered twice",)),
        ('import vlane\n@vlane.topology("x")\ndef f(routing: int): ...\n', ("parameter routing of topology x",)),
        ('import vlane\n@vlane.topology("x")\ndef f(k): ...\n', ("parameter k of topology x has no type annotation",)),
        ('import vlane\n@vlane.topology("x")\ndef f(*k: int): ...\n', ("must be a keyword parameter",)),
        ('import vlane\n@vlane.routing("x", vls_per_sl=0)\ndef f(t, v): ...\n', ("vls_per_sl of routing x must be 1",)),
        (
            'import vlane\n@vlane.scheduler("x")\nclass S: pass\n',
            ("choose of scheduler x is missing: define it as a static method",),
        ),
        (RR.replace("return requester", "return n"), ("choose of scheduler mine returned ", "which cannot send")),
        (RR.replace("return requester", "return requester + 0.5"), ("not a requester or -1",)),
        (RR.replace("n = len(sizes)", "n = len(sizes); memory[0] += 1"), ("changed its arguments",)),
        (
            RR.replace("memory[0] = ", "weights[0] = 7 + "),
            ("sent of scheduler mine changed sizes, weights or arrivals",),
        ),
        (
            RR.replace("(active, w", "(active, x"),
            ("choose of scheduler mine has the parameters (active, x", "expected (active, waiting"),
        ),
    ],
)
def test_a_plugin_that_cannot_be_used_is_refused(tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
    """Given an unusable plug-in, one line names its file, and nothing stays registered."""
    file = plugin_file(tmp_path, text)

    assert_refused(call("simulate", dragonfly_study(tmp_path), "--plugin", file), str(file), *words)
    assert vlane.plugins.origins() == ()


def test_two_plugins_of_one_name_are_refused_naming_both(tmp_path: Path) -> None:
    """Given two plug-ins with one name, the error names both files."""
    one, other = (plugin_file(tmp_path, ROTATION.read_text() + f"# {name}\n", name) for name in ("one.py", "other.py"))

    assert_refused(
        call("simulate", dragonfly_study(tmp_path), "--plugin", one, "--plugin", other), str(one), str(other)
    )


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """Given a missing plug-in file, the error names it."""
    called = call("simulate", dragonfly_study(tmp_path), "--plugin", tmp_path / "none.py")

    assert_refused(called, "none.py")


BY_HAND = """import numpy as np
import vlane

@vlane.routing("by_hand")
def by_hand(topology, vl_of_sl):
    made = vlane.up_down(topology, vl_of_sl)
    lft, vl, nic_vl, lids, by_lane = made.lft, made.vl, made.nic_vl, made.lids, made.by_lane
    {change}
    return vlane.Routes(lft, vl, nic_vl, lids, by_lane=by_lane)
"""
CLOCKWISE = """for host, (target, port) in enumerate(topology.hosts):
        lft[:, 1 + host] = 0
        lft[target, 1 + host] = port"""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "lft[:, 1] = 255",
            ("routes: 6 pairs of a host and a LID cannot communicate on SL 0: host 0 -> switch 0: no entry for LID 1",),
        ),
        ("lft[2, 1] = 255", ("routes: 2 pairs of", "on SL 0: host 4 -> switch 2: no entry for LID 1")),
        ("lft[0, 5] = 0; lft[1, 5] = 1", ("on SL 0: host 0 -> switch 0 port ", ", in a circle")),
        ("lft[0, 2] = lft[0, 1]", ("on SL 0: host 0 -> switch 0 port 3 -> host 0, which does not have LID 2",)),
        ("vl[1, :, :, 0] = 15", ("on SL 0: host 2 -> switch 1: its tables drop SL 0",)),
        ("lft = lft.astype(int)", ("routing by_hand lft must be uint8", "int64")),
        ("lft = lft[:, :-1]", ("routing by_hand lft must be uint8 of shape (3, 7)",)),
        ("lft[0, 1] = 77", ("routing by_hand lft[0, 1] must be below", "not 77")),
        ("nic_vl[0, 0] = 9", ("routing by_hand nic_vl[0, 0] must be below 1, or 15 for an unused entry, not 9",)),
        ("lids[3] = 1", ("routing by_hand lids assigns a LID to several NICs",)),
        ("return 5", ("routing by_hand returned 5, not Routes",)),
        ("lft[99, 0]", ("plugin.py:8: routing by_hand failed: IndexError",)),
        (CLOCKWISE, ("routes: 3 channels (link and VL) wait for each other in a cycle",)),
    ],
)
def test_routes_are_checked(tmp_path: Path, change: str, words: tuple[str, ...]) -> None:
    """Given routes of a plug-in with wrong tables, lost packets or cycles, the study is refused."""
    file = plugin_file(tmp_path, BY_HAND.format(change=change))
    ring = study_file(
        tmp_path, '[network]\ntopology = "torus"\nsize = [3]\nhosts_per_switch = 2\nrouting = "by_hand"\n'
    )

    called = call("simulate", ring, "--plugin", file, "--out", tmp_path / "out")

    assert called.status == 2, called
    for word in words:
        assert word in called.err.splitlines()[0], called.err


@pytest.mark.parametrize(("value", "shown"), [("-2", "-2"), ("len(t.hosts)", "9"), ("True", "True"), ("1.0", "1.0")])
def test_destinations_are_hosts(tmp_path: Path, value: str, shown: str) -> None:
    """Given a pattern that returns no valid host, the study is refused before a run."""
    file = plugin_file(tmp_path, f'import vlane\n@vlane.pattern("odd")\ndef odd(h, t): return {value}\n')
    study = study_file(tmp_path, '[network]\ntopology = "tree"\nk = 3\nn = 2\n')
    study.write_text(study.read_text().replace("sl = 0\n", 'sl = 0\npattern = "odd"\n'))

    called = call("simulate", study, "--plugin", file)

    assert_refused(called, f"pattern odd must be a host, 0 to 8, or -1 for none, not {shown}")


def test_rotation_is_that_of_the_book() -> None:
    """The rotation pattern moves bit 0 to the highest position."""
    vlane.load_plugin(ROTATION)
    rotation = vlane.plugins.plugins_of("pattern")["rotation"].made

    assert [rotation(host, tree(2, 3)) for host in range(8)] == [0, 4, 1, 5, 2, 6, 3, 7]


def test_pickled_world_carries_its_plugins(tmp_path: Path) -> None:
    """A pickled world carries its plug-ins, so the unpickling process needs no file."""
    file = plugin_file(tmp_path, DRAGONFLY.read_text())
    vlane.load_plugin(file)
    sent = pickle.dumps(make_world(read_study(dragonfly_study(tmp_path)), tmp_path))
    file.unlink()
    vlane.plugins._registered.clear()
    vlane.plugins._loaded.clear()

    world = pickle.loads(sent)  # noqa: S301 - our own

    assert world.study.network.topology == "dragonfly"
    assert [each.name for each in plugins_named(world.study)] == ["dragonfly", "dragonfly_minimal"]
    assert study_model() is not Study


def test_repeated_definition_replaces_a_plugin() -> None:
    """Defining a plug-in again, as in a notebook, replaces the earlier definition."""
    for value in (1, 2):
        vlane.pattern("again")(lambda _host, _topology, value=value: value)

    assert vlane.plugins.plugins_of("pattern")["again"].made(0, None) == 2


_CELL = """
import vlane
STEP = {step}
def moved(host, hosts):
    return (host + STEP) % hosts
@vlane.pattern("moved")
def by_step(host, topology):
    return moved(host, len(topology.hosts)) {more}
"""


def _run_cell(text: str, name: str = "<cell>") -> dict[str, Any]:
    """Run a text as a notebook's cell of the main program, as IPython does."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), names)  # noqa: S102 - the text is ours
    return names


def test_a_notebooks_plugins_reach_other_processes() -> None:
    """Plug-ins of the main program arrive in another process with the objects that they use, and with their source."""
    _run_cell(_CELL.format(step=3, more=""))
    digest = vlane.plugins.digest_of(vlane.plugins.plugins_of("pattern").values())
    kept = vlane.plugins.portable_plugins()
    vlane.plugins._registered.clear()
    linecache.cache.pop("<cell>")

    vlane.plugins.load_portable(*kept)

    arrived = vlane.plugins.plugins_of("pattern")["moved"]
    assert arrived.made(1, SimpleNamespace(hosts=range(8))) == 4
    assert vlane.plugins.digest_of([arrived]) == digest


def test_the_digest_of_a_notebooks_plugin_follows_all_that_it_uses() -> None:
    """The digest changes with a constant of another cell, and with the source of a function that the plug-in calls."""
    digests = set()
    for step, more in ((3, ""), (4, ""), (3, "+ 0")):
        names = _run_cell(_CELL.format(step=step, more=more))
        assert callable(names["by_step"])
        digests.add(vlane.plugins.digest_of(vlane.plugins.plugins_of("pattern").values()))
        vlane.plugins._registered.clear()

    assert len(digests) == 3


def test_a_plugin_that_cannot_be_sent_is_refused_before_a_process_starts() -> None:
    """Given a plug-in of the main program with an open file, the error names the plug-in and the remedy."""
    _run_cell("import vlane, threading\nlock = threading.Lock()\n@vlane.pattern('q')\ndef q(h, t): return lock and 0\n")

    with pytest.raises(InputError, match=r"cannot be sent to another process \(.*; use one job, or move the plug-in"):
        vlane.plugins.portable_plugins()


def test_the_digest_follows_the_source(tmp_path: Path) -> None:
    """A plug-in's digest follows its source, so changed plug-ins invalidate stored results."""
    digests = []
    for text in (RR, RR.replace("memory[0] + step", "memory[0] - step"), RR):
        vlane.plugins._registered.clear()
        vlane.plugins._loaded.clear()
        vlane.load_plugin(plugin_file(tmp_path, text))
        digests.append(vlane.plugins.digest_of(vlane.plugins.plugins_of("scheduler").values()))

    assert digests[0] == digests[2] != digests[1]


def egress(folder: Path, *more: str | Path) -> list[tuple[int, int]]:
    """Return (cycle, VL) of each departure from a port with packets of 1, 2 and 3 blocks on its lanes."""
    arrivals, table = folder / "arrivals.csv", folder / "table.toml"
    arrivals.write_text("cycle,vl,bytes\n" + "".join(f"0,{vl},{64 * (vl + 1)}\n" for vl in (0, 1, 2) * 4))
    table.write_text("[longest_first]\nweight = [2, 2, 0]\n" if "longest_first" in more else "")
    called = call("egress", "--table", table, "--arrivals", arrivals, "--list", "--json", *more)
    assert called.status == 0, called.err
    return [(each["cycle"], each["vl"]) for each in called.json()["departures"]]


@pytest.mark.slow
def test_a_changed_scheduler_is_compiled_again(tmp_path: Path) -> None:
    """A plug-in's round robin departs packets as vlane's own, and a changed plug-in is recompiled."""
    forward = egress(tmp_path, "--scheduler", "mine", "--plugin", plugin_file(tmp_path, RR))
    vlane.plugins._registered.clear()
    vlane.plugins._loaded.clear()
    changed = RR.replace("memory[0] + step", "memory[0] - step")
    backward = egress(tmp_path, "--scheduler", "mine", "--plugin", plugin_file(tmp_path, changed))

    assert forward == egress(tmp_path, "--scheduler", "rr")
    assert [vl for _, vl in forward[:6]] == [0, 1, 2, 0, 1, 2]
    assert [vl for _, vl in backward[:6]] == [0, 1, 2, 2, 2, 2]


@pytest.mark.slow
def test_the_example_prefers_large_packets_until_others_wait_too_long(tmp_path: Path) -> None:
    """The example scheduler prefers large packets but limits the wait of other lanes."""
    served = egress(tmp_path, "--scheduler", "longest_first", "--plugin", LONGEST)

    assert [vl for _, vl in served[:6]] == [2, 2, 0, 1, 2, 0]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("n = len(str([sizes, {}]) * 0) + len(sizes)", "`[sizes, {}]` is not in the subset"),
        ("n = len(sorted(sizes))", "sorted"),
        ("n = len(sizes); sizes = n", "the parameter sizes is an array of int64 in 1 dimension"),
    ],
)
def test_a_scheduler_that_cannot_be_translated_is_refused(line: str, reason: str, tmp_path: Path) -> None:
    """Given a line that kernels do not support, one message names file, line and reason before a run."""
    file = plugin_file(tmp_path, RR.replace("n = len(sizes)", line))
    study = study_file(tmp_path, '[network]\ntopology = "tree"\nk = 2\nn = 1\n[scheduler]\nname = "mine"\n')
    number = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if line in text)

    assert_refused(call("simulate", study, "--plugin", file), f"{file}:{number}: ", reason, "docs/compiler.md")


def test_a_helper_of_a_plug_in_is_translated_too(tmp_path: Path) -> None:
    """A scheduler may call a plain function of its file."""
    helper = "import vlane\n\ndef count(sizes):\n    return len(sizes)\n"
    helped = RR.replace("n = len(sizes)", "n = count(sizes)").replace("import vlane\n", helper)
    file = plugin_file(tmp_path, helped)
    study = study_file(tmp_path, '[network]\ntopology = "tree"\nk = 2\nn = 1\n[scheduler]\nname = "mine"\n')

    assert call("simulate", study, "--plugin", file, "--out", tmp_path / "out").status == 0


@pytest.mark.slow
@pytest.mark.parametrize("jobs", long_but([1], [1, 2]))
def test_a_network_of_the_plugins_round_robin_is_that_of_vlanes_own(jobs: int, tmp_path: Path) -> None:
    """A network with a plug-in's round robin delivers as with vlane's own, in any process."""
    file = plugin_file(tmp_path, RR)
    digests = {}
    for name in ("rr", "mine"):
        study = study_file(tmp_path, f'[network]\ntopology = "tree"\nk = 2\nn = 2\n[scheduler]\nname = "{name}"\n')
        study.write_text(study.read_text().replace("seeds = [1]", "seeds = [1, 2]").replace("[0.3]", "[0.6]"))
        options = ("--plugin", file, "--jobs", str(jobs), "--out", tmp_path / name, "--json")
        done = call("simulate", study, *options)
        assert done.status == 0, done.err
        digests[name] = [run["digest"] for run in done.json()["runs"]]

    assert digests["rr"] == digests["mine"]
    assert len(set(digests["mine"])) == 2


@pytest.mark.slow
def test_runs_of_a_plugin_that_changed_are_made_again(tmp_path: Path) -> None:
    """Runs of a changed plug-in are repeated next to the stored runs of its older version.

    A changed plug-in that the study does not use has no effect.
    """
    study = study_file(tmp_path, '[network]\ntopology = "tree"\nk = 2\nn = 2\n')
    study.write_text(study.read_text().replace("sl = 0\n", 'sl = 0\npattern = "rotation"\n'))
    used, other = plugin_file(tmp_path, ROTATION.read_text()), plugin_file(tmp_path, DRAGONFLY.read_text(), "other.py")
    said = []
    for change in ("", "other", "used"):
        vlane.plugins._registered.clear()
        vlane.plugins._loaded.clear()
        if change:
            {"other": other, "used": used}[change].write_text(
                {"other": DRAGONFLY, "used": ROTATION}[change].read_text() + "#\n"
            )
        options = ("--plugin", used, "--plugin", other, "--resume", "--out", tmp_path / "out")
        called = call("simulate", study, *options)
        assert called.status == 0, called.err
        said.append(len(json.loads((tmp_path / "out" / "manifest.json").read_text())["runs"]))

    assert said == [1, 1, 2]


def test_prints_of_a_plugin_go_to_stderr(tmp_path: Path) -> None:
    """Text printed by a plug-in goes to stderr, so stdout stays one JSON document."""
    text = (
        'import vlane\nprint("loading")\n@vlane.pattern("loud")\ndef loud(h, t):\n    print("called")\n    return 0\n'
    )
    study = study_file(tmp_path, '[network]\ntopology = "tree"\nk = 2\nn = 2\n')
    study.write_text(study.read_text().replace("sl = 0\n", 'sl = 0\npattern = "loud"\n'))

    called = call("simulate", study, "--plugin", plugin_file(tmp_path, text), "--out", tmp_path / "out", "--json")

    assert called.json()["runs"]
    assert "loading" in called.err
    assert "called" in called.err


@pytest.mark.parametrize(
    ("decorate", "words"),
    [
        (lambda: vlane.scheduler("q")(3), "scheduler q must be a class with choose"),
        (
            lambda: vlane.pattern("q")(lambda: 3),
            "pattern q must be a function with two parameters, a host and a topology",
        ),
        (
            lambda: vlane.routing("q")(lambda _: 3),
            "routing q must be a function with two parameters, a topology and the VL of each SL",
        ),
    ],
)
def test_decorators_refuse_objects_of_the_wrong_kind(decorate: Any, words: str) -> None:
    """Given an object of the wrong kind, the plug-in decorator refuses it."""
    with pytest.raises(InputError, match=words):
        decorate()


def test_port_hardware_is_refused_for_a_plugins_scheduler(tmp_path: Path) -> None:
    """Given a plug-in's scheduler, ``egress --model both`` is refused because it has no hardware."""
    file = plugin_file(tmp_path, RR)
    (tmp_path / "table.toml").write_text("")
    (tmp_path / "arrivals.csv").write_text("cycle,vl,bytes\n0,0,64\n")
    port = call(
        "egress",
        "--table",
        tmp_path / "table.toml",
        "--arrivals",
        tmp_path / "arrivals.csv",
        "--model",
        "both",
        "--scheduler",
        "mine",
        "--plugin",
        file,
    )

    assert_refused(port, "--model both cannot be used with scheduler mine: it has no hardware")


@pytest.mark.slow
def test_switch_hardware_is_refused_for_a_plugins_scheduler(tmp_path: Path) -> None:
    """Given a plug-in's scheduler, a hardware switch is refused and the error names the key."""
    text = '[network]\ntopology = "tree"\nk = 2\nn = 1\n[link]\nflit_bytes = 64\n[scheduler]\nname = "mine"\n'
    study = study_file(tmp_path, text)

    called = call("cosim", "network", study, "--rtl", "0", "--plugin", plugin_file(tmp_path, RR))

    assert_refused(called, "scheduler.name: mine has no hardware")


def test_plugins_are_checked_like_the_rest_of_a_study() -> None:
    """With plug-ins loaded, studies are validated as without them."""
    vlane.load_plugin(ROTATION)
    from vlane.documents.document import Document  # noqa: PLC0415

    content = {"network": {"topology": "tree", "k": 2, "n": 1}, "traffic": [{"share": 0.5}], "run": {"loads": [1.0]}}
    for change in (content, {**content, "extra": 1}):
        with pytest.raises(InputError, match=r"sum of the shares is 0.5|unknown key"):
            checked(study_model(), Document("study", "", change))


@pytest.mark.slow
@pytest.mark.parametrize("name", long_but(["rotation"], ["dragonfly", "rotation"]))
def test_the_examples_run(name: str, tmp_path: Path) -> None:
    """The example plug-ins' studies run without saturation."""
    text = (PACKAGE / f"{name}.toml").read_text().replace("cycles = 10000", "cycles = 3000").replace("0.2, 0.4", "0.2")
    (tmp_path / f"{name}.toml").write_text(text)
    shutil.copy(PACKAGE / "longest_first_table.toml", tmp_path)
    files = [word for file in (DRAGONFLY, LONGEST, ROTATION) for word in ("--plugin", file)]

    called = call("simulate", tmp_path / f"{name}.toml", *files, "--out", tmp_path / "out", "--json")

    assert called.status == 0, called.err
    assert not any(run["saturated"] for run in called.json()["runs"])


UNSURE = """import itertools
import vlane

count = itertools.count()

@vlane.pattern("unsure")
def unsure(host, topology):
    return next(count) % len(topology.hosts)

@vlane.topology("growing")
def growing() -> vlane.Topology:
    made = 2 + next(count) % 2
    cables = tuple(((0, port), (1, port)) for port in range(made))
    return vlane.Topology("growing", 2, 5, cables, ((0, 4), (1, 4)), ())

@vlane.routing("varying")
def varying(topology, vl_of_sl):
    routes = vlane.up_down(topology, vl_of_sl)
    routes.nic_vl[:] += next(count) % 2
    return routes
"""


@pytest.mark.parametrize(
    ("network", "pattern", "said"),
    [
        (
            'topology = "dumbbell"\nleft = 2\nright = 2',
            "unsure",
            "pattern unsure is not deterministic: the destination of",
        ),
        ('topology = "growing"', "uniform", "topology growing is not deterministic: cables differs between two calls"),
        (
            'topology = "dumbbell"\nleft = 2\nright = 2\nrouting = "varying"',
            "uniform",
            "routing varying is not deterministic: nic_vl differs between two calls",
        ),
    ],
)
def test_plugin_that_is_not_deterministic_is_refused(network: str, pattern: str, said: str, tmp_path: Path) -> None:
    """A topology, routing or pattern whose results depend on earlier calls is refused in one line."""
    plugin, file = tmp_path / "unsure.py", tmp_path / "study.toml"
    plugin.write_text(UNSURE)
    file.write_text(f"[network]\n{network}\n" + RUN.replace("sl = 0", f'pattern = "{pattern}"'))
    vlane.load_plugin(plugin)

    with pytest.raises(InputError, match=said):
        make_network(make_world(read_study(file), tmp_path), load=0.1, seed=1)
