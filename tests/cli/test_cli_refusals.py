"""Refusals of the command line: one line or one JSON object, in the project's words."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import typer

import vlane
from tests.conftest import STUDY, TABLE, Called, assert_refused, call
from vlane.sim_top.cli import egress as cli_egress
from vlane.sim_top.cli.main import VERBS as LOADED
from vlane.sim_top.cli.main import app
from vlane.sim_top.cli.verbs import CheckFailedError

GROUP: Any = typer.main.get_command(app)
VERBS: dict[str, Any] = {
    f"{name} {inner}".strip(): verb
    for name in LOADED
    for group in (GROUP.get_command(None, name),)
    for inner, verb in getattr(group, "commands", {"": group}).items()
}
FOREIGN = ("Input should", "valid", "Invalid value", "Missing", "No such", "Got unexpected", "requires an", "Error")
FIELDS = {"file", "line", "field", "must", "got", "did_you_mean", "message"}


def refusal(called: Called) -> dict[str, Any]:
    """Return the JSON object on stderr of a refused call."""
    assert called.status == 2, called
    assert called.out == ""
    assert len(called.err.splitlines()) == 1
    told: dict[str, Any] = json.loads(called.err)
    assert set(told) >= FIELDS
    return told


def test_version_is_printed() -> None:
    """``--version`` prints the installed version."""
    assert call("--version") == Called(0, f"vlane {vlane.__version__}\n", "")


def test_seed_is_an_option_where_something_is_drawn() -> None:
    """``--seed`` is an option of exactly the verbs that draw random numbers."""
    seeded = {name for name, verb in VERBS.items() if any("--seed" in option.opts for option in verb.params)}

    assert seeded == {"cosim", "coverage", "upsets", "mutate", "soak", "export", "voqsw"}


def test_without_a_verb_the_help_is_shown() -> None:
    """Without a verb, the help is printed on stderr with exit status 2."""
    for arguments in ([], ["fabric"], ["dtable"]):
        called = call(*arguments)
        assert called.status == 2
        assert called.out == ""
        assert "Usage: vlane" in called.err
        assert "--help" in called.err


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_refuses_unknown_options(verb: str) -> None:
    """Every verb refuses unknown options and missing arguments, in text and in JSON.

    A near miss is answered with the closest option.
    """
    words, command = verb.split(), VERBS[verb]
    required = {option.opts[0]: "x" for option in command.params if option.required and option.opts[0].startswith("-")}
    given = [word for pair in required.items() for word in pair]
    given += ["x" for each in command.params if each.required and not each.opts[0].startswith("-")]

    assert_refused(call(*words, *given, "--jsn"), "--jsn: unknown option (see `vlane ", "did you mean --json?")
    told = refusal(call(*words, *given, "--qqqq", "--json"))
    assert (told["field"], told["got"], told["did_you_mean"]) == ("--qqqq", "unknown", None)
    if given:
        told = refusal(call(*words, "--json"))
        assert told["got"] == "missing"
        assert told["message"].startswith(f"{told['field']} is missing: ")
        assert told["field"] in required or told["field"].isupper()


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_refuses_in_our_words(verb: str) -> None:
    """Every option refuses values of the wrong type or range in our words."""
    words = verb.split()
    for option in VERBS[verb].params:
        name = option.opts[0]
        if not name.startswith("-") or name == "--help":
            continue
        tries = [[f"{name}=x"]] if option.is_flag else [[name]]
        kind = option.type_descriptor.annotation
        if kind in {int, float, int | None, float | None}:
            tries += [[name, "x"], [name, "1.5.2"], [name, ""]]
        if kind in {int, int | None}:
            tries += [[name, "9" * 5000]]
        for each in tries:
            called = call(*words, *each)
            assert called.status == 2
            assert len(called.err.splitlines()) == 1
            problems = ("must be ", "needs a value", "takes no value")
            assert called.err.startswith(tuple(f"vlane: {name} {problem}" for problem in problems)), called.err
            assert not [word for word in FOREIGN if word in called.err], called.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cosm"], ["VERB must be one of", "not cosm; did you mean cosim?"]),
        (["fabric", "chek"], ["fabric VERB must be one of show, check", "did you mean check?"]),
        (["cosim", "vlrab"], ["BLOCK must be one of", "did you mean vlarb?"]),
        (["cosim", "vlarb", "--param", "entrys=3"], ["--param must be one of data_vls,", "did you mean entries?"]),
        (["cosim", "vlarb", "--param", "entries"], ["--param must be NAME=VALUE, not entries"]),
        (["cosim", "dtable", "--param", "form=line-rate"], ["--param form must be one of", "did you mean line_rate?"]),
        (["cosim", "ib_switch", "--param", "credit=fpc"], ["--param credit must be one of", "did you mean fcp?"]),
        (["cosim", "vlarb", "--engine", "cocotbb"], ["--engine must be one of native, cocotb", "did you mean cocotb?"]),
        (["cosim", "vlarb", "--simulator", "icaru"], ["--simulator", "did you mean icarus?"]),
        (["cosim", "vlarb", "--netlist", "ecp"], ["--netlist must be one of", "did you mean ecp5?"]),
        (["cosim", "vlarb", "--cycles", "1000000000000"], ["--cycles must be 1 to 100000000000, not"]),
        (
            ["cosim", "network", "sim_top/configs/fabric_rtl.toml", "--rtl", "3", "--cycles", "10000000000000"],
            ["--cycles must be 1 to 1099511627776"],
        ),
        (["mutate", "vlarb", "--cycles", "1000000000000"], ["--cycles must be 1000 to 100000000000"]),
        (["coverage", "vlarb", "--cycles", "10"], ["--cycles must be 1000 to 100000000000"]),
        (["soak", "--cycles", "1000000000000"], ["--cycles must be 1 to 100000000000"]),
        (["soak", "ip_switch"], ["BLOCK must be one of", "did you mean ib_switch?"]),
        (["area", "rr", "--target", "ecp"], ["--target must be one of", "did you mean ecp5?"]),
        (["area", "rr", "--sweep", "data_vl=2"], ["--sweep must be one of data_vls", "did you mean data_vls?"]),
        (["fabric", "show", "tests/data/two_switch", "x"], ["x: unexpected argument (see `vlane fabric show --help`)"]),
        (["fabric", "show"], ["DIR is missing: Folder of dumps"]),
        (["cosim", "vlarb", "--json=3"], ["--json takes no value"]),
    ],
)
def test_the_closest_name_is_suggested(arguments: list[str], words: list[str]) -> None:
    """Given a misspelt verb, block, parameter or value, the error suggests the closest name."""
    assert_refused(call(*arguments), *words)


def test_json_refusal_has_file_and_line(tmp_path: Path, arrivals: Path) -> None:
    """A refusal in JSON contains file, line and field."""
    file = tmp_path / "table.toml"
    file.write_text(TABLE.replace("[0, 32]", "[0, 256]"))

    told = refusal(call("egress", "--table", file, "--arrivals", arrivals, "--json"))

    assert told == {
        "file": str(file),
        "line": 2,
        "field": "vlarb.high[0] weight",
        "must": "0 to 255",
        "got": 256,
        "did_you_mean": None,
        "message": f"{file}:2: vlarb.high[0] weight must be 0 to 255, not 256",
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("blocks = 64", "blocks = 8", "7: buffers.blocks must be at least 9, the sum of minimum_blocks, not 8"),
        (
            "k = 2",
            "k = 128",
            "3: network.k must be 2 to 127 with n from 1 to 8 and at most 65536 hosts, not 128 with n = 2",
        ),
        ("blocks = 64", "blocks = 64\nminimum_blocks = 4", "8: buffers.minimum_blocks of VL 1 must be at least 8"),
        ("[buffers]", '[scheduler]\nname = "drr"\n[buffers]', "6: scheduler.table is missing"),
        (
            "[buffers]",
            '[scheduler]\nname = "scfq"\ntable = "t.toml"\n[scheduler.parameters]\nunitz = 3\n[buffers]',
            "10: scheduler.parameters.unitz must be one of",
        ),
        (
            "[buffers]",
            '[scheduler]\nname = "scfq"\ntable = "t.toml"\n[scheduler.parameters]\nunits = "shard"\n[buffers]',
            "10: scheduler.parameters.units must be one of shared, per_requester, not shard; did you mean shared?",
        ),
        (
            "sl = 1\n",
            'sl = 1\npattern = "transpose"\n',
            "21: traffic.1.pattern needs a power of 4 as number of hosts; the network has 8",
        ),
        ("sl = 1\n", "sl = 1\nhot_share = 0.1\nhot_hosts = [4]\n", "22: traffic.1.hot_hosts must be 0 to 3, not 4"),
        (
            "[buffers]",
            "[[stall]]\ncycle = 1\ncycles = 1\nswitch = 99\nport = 1\n[buffers]",
            "9: stall.0.switch must be",
        ),
    ],
)
def test_unbuildable_study_is_refused_with_key_and_line(old: str, new: str, said: str, tmp_path: Path) -> None:
    """Given a study that cannot be built, the error names the key and its line."""
    study = tmp_path / "study.toml"
    (tmp_path / "t.toml").write_text("[scfq]\nweight = [1, 1]\n")
    text = STUDY.replace(old, new, 1)
    if "transpose" in text:
        text = text.replace("n = 2", "n = 3")
    study.write_text(text)

    called = call("simulate", study, "--out", tmp_path / "out")

    assert_refused(called, said)
    assert f"vlane: {study}:{said}" in called.err


def test_unsuitable_default_is_reported_as_default(tmp_path: Path) -> None:
    """Given a default value that does not fit, the error calls it the default."""
    head = STUDY.partition("[[traffic]]")[0].replace("[buffers]\nblocks = 64\n", '[switch]\nkind = "opa"\n')
    levels = [*range(15), *range(16, 32)]  # channel 15 is reserved for management
    study = tmp_path / "study.toml"
    study.write_text(head + "".join(f"[[traffic]]\nsl = {sl}\nshare = {1 / 31}\nbytes = 4224\n" for sl in levels))

    called = call("simulate", study, "--out", tmp_path / "out")

    assert_refused(
        called, f"{study}:1: buffers.blocks must be at least 2046, the sum of minimum_blocks, not its default, 1792"
    )


def test_failed_check_without_a_document_is_reported(table: Path, arrivals: Path) -> None:
    """A failed check without a document is reported with exit status 1 in text or JSON."""
    arguments = ("egress", "--table", table, "--arrivals", arrivals)
    with mock.patch.object(cli_egress, "run_egress", side_effect=CheckFailedError("STUCK at cycle 3")):
        plain, scripted = call(*arguments), call(*arguments, "--json")

    assert plain == Called(1, "", "vlane: STUCK at cycle 3\n")
    assert (scripted.status, scripted.out) == (1, "")
    told = json.loads(scripted.err)
    assert told["message"] == "STUCK at cycle 3"
    assert [told[name] for name in ("file", "line", "field", "must", "got")] == [None] * 5


@pytest.mark.parametrize(("raised", "said"), [(MemoryError, "out of memory"), (RecursionError, "nested too deep")])
def test_exhausted_memory_is_reported_in_one_line(
    raised: type[Exception], said: str, table: Path, arrivals: Path
) -> None:
    """Exhausted memory or recursion is reported in one line. Unexpected exceptions keep a traceback."""
    arguments = ("egress", "--table", table, "--arrivals", arrivals)
    with mock.patch.object(cli_egress, "run_egress", side_effect=raised):
        assert_refused(call(*arguments), said)
    with mock.patch.object(cli_egress, "run_egress", side_effect=KeyError("ours")), pytest.raises(KeyError):
        _raising(*arguments)


def _raising(*arguments: str | Path) -> None:
    with mock.patch("sys.argv", ["vlane", *map(str, arguments)]), mock.patch.dict(os.environ):
        from vlane.sim_top.cli.main import main  # noqa: PLC0415

        main()


def test_a_pipe_is_read_once(arrivals: Path) -> None:
    """A table from a pipe is read only once, even to report an error."""
    end, start = os.pipe()
    os.write(start, TABLE.encode())
    os.close(start)

    called = call("egress", "--table", f"/dev/fd/{end}", "--arrivals", arrivals, "--param", "entries=2")
    os.close(end)

    assert_refused(called, f"/dev/fd/{end}: vlarb: 3 values; the instance allows 2 (entries per list)")
