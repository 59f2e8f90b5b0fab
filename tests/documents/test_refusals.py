# ruff: noqa: E501 - messages stand in one line, as they are told
"""Refused documents: file, line and key in the project's words, for any wrong value of any key."""

from __future__ import annotations

import ast
import copy
import json
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from vlane.documents.document import Document, read_document
from vlane.documents.refusal import WORDS, checked, is_key
from vlane.errors import InputError
from vlane.planning import dtable_request as dtable_plan
from vlane.planning import vlarb_wants
from vlane.schedulers import table_files as tables
from vlane.study import study
from vlane.study.model import read_study

ROOT = Path(__file__).parent.parent.parent
TRAFFIC = {
    "sl": 0,
    "share": 1.0,
    "bytes": [64, 512],
    "pattern": "uniform",
    "hot_hosts": [1],
    "hot_share": 0.5,
    "burst": 2,
    "regular": True,
}
FAULT = {"cycle": 1, "cycles": 2, "switch": 0, "port": 1}
COMMON = {
    "switch": {"kind": "ib"},
    "link": {"credits": "fcp", "vl_of_sl": [0] * 16},
    "buffers": {"blocks": 64, "minimum_blocks": [1], "maximum_blocks": 3},
    "scheduler": {"name": "drr", "table": "t.toml", "parameters": {"requesters": 2}},
    "traffic": [TRAFFIC],
    "trace": {"file": "packets.csv"},
    "stall": [dict(FAULT)],
    "loss": [dict(FAULT)],
    "rewrite": [{"cycle": 1, "switch": 0, "lid": 1, "port": 1}],
    "swap": [{"cycle": 9, "switch": 0, "ports": [1], "high": [[0, 1]], "low": [], "limit_of_high_priority": 3}],
    "measure": {"flows": True},
    "run": {"loads": [0.1, 0.2], "seeds": [1, 2], "cycles": 3000, "warm_up_cycles": 100},
}
NETWORKS = (
    {"topology": "tree", "k": 2, "n": 2},
    {"topology": "torus", "size": [4, 4]},
    {"topology": "irregular", "switches": 4, "ports": 8, "hosts_per_switch": 2},
    {"topology": "dumbbell", "left": 1, "right": 2},
    {"topology": "edges", "file": "net.txt"},
    {"topology": "fabric", "folder": "captured"},
)
OPA = {
    **COMMON,
    "network": NETWORKS[0],
    "switch": {"kind": "opa", "central_blocks": 64},
    "link": {"data_vls": 2, "sc_of_sl": [0] * 32, "vl_of_sc": [0] * 32},
    "loss": [],
}
LEVEL = {"name": "A", "sl": 0, "distance": 2, "mtu_blocks": 4, "bandwidth": 1}
DOCUMENTS: list[tuple[type[BaseModel], dict[str, Any]]] = [
    *((study.Study, {"network": network, **COMMON}) for network in NETWORKS),
    (study.Study, OPA),
    (
        tables._file_model(("vlarb", "dtable", "drr", "scfq")),
        {
            "vlarb": {"high": [[0, 1]], "low": [[1, 2]], "limit_of_high_priority": 3},
            "dtable": {"entries": [[0, 1]]},
            "drr": {"quantum": [1, 2]},
            "scfq": {"weight": [1, 2]},
            "sl2vl": {"row": [0] * 16},
        },
    ),
    (dtable_plan.RequestFile, {"dtable_plan": {"entries": 64, "gmtu_blocks": 32, "k": 1, "w": 2, "sl": [LEVEL]}}),
    (
        vlarb_wants.WantsFile,
        {
            "link": {"rate_gbps": "EDR 4X", "mtu": 256, "data_vls": 2},
            "level": [{"sl": 0, "share": 1, "wait_us": 2, "priority": "high"}],
        },
    ),
]
BAD: list[Any] = [
    None,
    True,
    0,
    -1,
    3,
    1 << 70,
    -(10**400),
    10**400,
    0.5,
    -2.5,
    1e300,
    math.nan,
    math.inf,
    "",
    "x",
    "4",
    "\0",
    [],
    [0] * 99,
    ["x"],
    [None],
    [[]],
    [1.5],
    [math.nan],
    [-1],
    [10**400],
    [1, 2, 3],
    {},
    {"x": 1},
    {"k": []},
    [{"x": 1}],
    b"bytes",
]
FOREIGN = (
    "Input",
    "valid",
    "should",
    "Value error",
    "Field required",
    "permitted",
    "pydantic",
    "discriminator",
    "tag ",
    "union",
    "instance",
    "parse",
    "dictionary",
    "integer",
    "Literal",
    "constrained",
)
"""Words of pydantic's own messages, which must not appear in ours."""


def places(content: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every key of a document and of the first element of every list."""
    if isinstance(content, dict):
        for key, inner in content.items():
            yield (*at, key)
            yield from places(inner, (*at, key))
    elif isinstance(content, list) and content:
        yield (*at, 0)
        yield from places(content[0], (*at, 0))


def with_defaults(model: type[BaseModel], content: dict[str, Any]) -> dict[str, Any]:
    """Return the document with every key of the model written out, so that each can be changed."""
    filled = dict(content)
    for name, info in model.model_fields.items():
        inner = info.annotation
        if isinstance(filled.get(name), dict) and isinstance(inner, type) and issubclass(inner, BaseModel):
            filled[name] = with_defaults(inner, filled[name])
        elif name not in filled and not info.is_required() and info.default_factory is None:
            filled[name] = info.default
    return filled


def spoiled(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    copied = copy.deepcopy(content)
    inner = copied
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return copied


def refused(model: type[BaseModel], content: Any) -> InputError | None:
    try:
        checked(model, Document("study.json", json.dumps(dict.fromkeys(content, 0)), content))  # lines of sections only
    except InputError as error:
        return error
    return None


@pytest.mark.parametrize(("model", "content"), DOCUMENTS, ids=lambda value: getattr(value, "__name__", ""))
def test_every_key_is_refused_in_our_words(model: type[BaseModel], content: dict[str, Any]) -> None:
    """Each key with each kind of wrong value is refused in our words, with key and line."""
    filled = content if content is OPA else with_defaults(model, content)
    assert refused(model, filled) is None
    looked_at = list(places(filled))
    if model is study.Study and content not in (DOCUMENTS[0][1], OPA):
        looked_at = [path for path in looked_at if path[0] == "network"]  # the first document covers the rest
    refusals, kinds = 0, set()
    for path in looked_at:
        for value in BAD:
            bad = spoiled(filled, path, value)
            try:
                model.model_validate(bad)
            except ValidationError as error:
                kinds |= {each["type"] for each in error.errors()}
            error = refused(model, bad)
            if error is None or error.field.split(".")[0] != str(path[0]):
                continue
            refusals += 1
            said = f"{error.field} {error.problem or error.must}"
            assert not [word for word in FOREIGN if word in said], said
            assert error.must
            assert error.line, said
            assert all(part.isdecimal() or part in said for part in map(str, path[:2])), (path, value, said)
            assert len(str(error).splitlines()) == 1
    assert refusals > 10 * len(looked_at)
    known = {"literal_error", "extra_forbidden", "missing", "value_error", "union_tag_invalid", "union_tag_not_found"}
    assert kinds <= known | set(WORDS)


@pytest.mark.parametrize(("model", "content"), DOCUMENTS, ids=lambda value: getattr(value, "__name__", ""))
def test_missing_and_misspelt_keys_are_reported(model: type[BaseModel], content: dict[str, Any]) -> None:
    """A misspelt key is reported with the intended key, and a removed key is reported as missing."""
    for path in places(content):
        if not isinstance(path[-1], str) or path[-2:-1] == ("parameters",):
            continue
        inner: Any = (bad := copy.deepcopy(content))
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1] + "x"] = inner.pop(path[-1])
        error = refused(model, bad)
        assert error is not None, path
        if path[-1] == "topology":
            assert (error.field, error.got) == ("network.topology", "missing")
        else:
            assert (error.field, error.got, error.meant) == (".".join(map(str, path)) + "x", "unknown", path[-1])
        del inner[path[-1] + "x"]
        error = refused(model, bad)
        document = Document("study.json", "", bad)
        assert error is None or error.got == "missing" or document.has(document.path_of(error.field)), error


def test_validators_raise_structured_errors() -> None:
    """Validators raise structured errors, so no message is parsed again."""
    for name in ("study/study", "schedulers/table_files", "planning/dtable_request"):
        tree = ast.parse((ROOT / "vlane" / f"{name}.py").read_text())
        raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
        assert not [node.lineno for node in raised if isinstance(node.func, ast.Name) and node.func.id == "ValueError"]


STUDY = """# a study
[network]
topology = "tree"
k = 2
n = 2

[link]
data_vls = 2

[run]
loads = [
  0.2,
  0.5,
]
cycles = 3000
warm_up_cycles = 500

[[traffic]]
share = 0.5

[[traffic]]
share = 0.5
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("k = 2", "k = 1", "4: network.k must be at least 2, not 1"),
        ("k = 2", "k = 2\ntrunks = 2", "5: network.trunks: unknown key (known: topology, k, n, routing, lmc)"),
        ("k = 2\n", "", "2: network.k is missing"),
        (
            '"tree"',
            '"treee"',
            "3: network.topology must be one of tree, fat_tree, torus, irregular, dumbbell, edges, fabric, not treee; did you mean tree?",
        ),
        (
            'topology = "tree"\n',
            "",
            ("2: network.topology is missing: give one of tree, fat_tree, torus, irregular, dumbbell, edges, fabric"),
        ),
        (
            "[run]",
            "[runs]",
            "10: runs: unknown key (known: network, switch, link, cable, voqsw, buffers, scheduler, nic, traffic, trace, connections, admission, congestion, stall, rewrite, swap, loss, measure, run); did you mean run?",
        ),
        ("  0.5,", "  nan,", "13: run.loads.1 must be a finite number, not nan"),
        ("  0.5,", "  1.5,", "13: run.loads.1 must be at most 1.0, not 1.5"),
        ("  0.2,\n  0.5,\n", "", "11: run.loads must be a list of at least 1 element, not 0 elements"),
        ("n = 2", "n = true", "5: network.n must be a whole number, not true"),
        ("n = 2", "n = 2020-01-02", "5: network.n must be a whole number, not 2020-01-02"),
        (
            "n = 2",
            'n = 2\nrouting = "dmodq"',
            "6: network.routing must be one of dmodk, valiant, updown, not dmodq; did you mean dmodk?",
        ),
        (
            "n = 2",
            "n = 2\ncycles = 5",
            "6: network.cycles: unknown key (known: topology, k, n, routing, lmc); did you mean run.cycles?",
        ),
        (
            "warm_up_cycles = 500\n",
            "warm_up_cycles = 3000\n",
            "16: run.warm_up_cycles must be below cycles, 3000, not 3000",
        ),
        ("warm_up_cycles = 500\n", "", "15: run.cycles must be above warm_up_cycles, by default 10000, not 3000"),
        ("data_vls = 2", "fcp_blocks = 3", "8: link.fcp_blocks cannot be used with link.credits returns"),
        (
            "data_vls = 2",
            'credits = "fcp"\nfcp_period_cycles = 100000',
            ("9: link.fcp_period_cycles must be less than run.stuck_cycles, by default 100000, not 100000"),
        ),
        ("share = 0.5\n\n", "share = 0.5\nsl = 16\n\n", "20: traffic.0.sl must be 0 to 15 with switch.kind ib, not 16"),
        ("share = 0.5\n\n", "share = 0.5\nsl = 32\n\n", "20: traffic.0.sl must be below 32 or path, not 32"),
        (
            "share = 0.5\n\n",
            'share = 0.5\nsl = "pth"\n\n',
            "20: traffic.0.sl must be a whole number or path, not pth; did you mean path?",
        ),
        (
            "share = 0.5\n\n",
            'share = 0.5\nbytes = [64, "x"]\n\n',
            "20: traffic.0.bytes.1 must be a whole number or a list, not x",
        ),
        (
            "share = 0.5\n\n",
            "share = 0.5\nbytes = true\n\n",
            "20: traffic.0.bytes must be a whole number or a list or text, not true",
        ),
        ("share = 0.5\n\n", "share = 0.4\n\n", "18: traffic: the sum of the shares is 0.9; it must be 1"),
        (
            "share = 0.5\n\n",
            "share = 0.5\nhot_share = 0.5\n\n",
            "18: traffic.0.hot_hosts is missing: it is required with hot_share",
        ),
        ("[network]", "[network", "2: content: invalid TOML, expected ] after a section's name: [network"),
        ("k = 2", "k = 2\nk = 3", "5: content: invalid TOML, expected each key once: k = 3"),
        ("[run]", "[network]\n[run]", "10: content: invalid TOML, expected each section once: [network]"),
        ("k = 2", "k = " + "9" * 5000, "4: content: invalid TOML, expected numbers of at most 4300 digits: k = 9"),
        ("k = 2", "k = " + "[" * 5000, "content is nested too deep"),
        ("# a study", "# a study \0", "1: content: invalid TOML, expected no control characters: # a study \\x00"),
        ("k = 2", "k = 1" + "0" * 400, "k must be"),
    ],
)
def test_line_of_a_study_is_reported(old: str, new: str, said: str, tmp_path: Path) -> None:
    """An error in a study names the line of the key, of the section that lacks a key, or of bad TOML."""
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace(old, new, 1))

    if said == "k must be":
        assert read_study(file).network.topology == "tree"  # the network checks its size later
        return
    with pytest.raises(InputError) as told:
        read_study(file)

    message = str(told.value)
    assert message.startswith(f"{file}:{said}") or (not said[0].isdigit() and said in message), message
    assert message == f"{file}:{said}" or len(new) > 4000 or not said[0].isdigit()


JUNK = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        [
            "\n",
            "[",
            "]",
            "[[",
            "=",
            "{",
            '"',
            '"""',
            "'",
            "#",
            ".",
            "nan",
            "1e999",
            "\0",
            "\ufeff",
            "\r",
            "[run]\n",
            "k = 2\n",
        ]
    ),
)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, len(STUDY)), st.integers(0, 30), JUNK), min_size=1, max_size=3))
def test_a_spoiled_study_is_read_or_refused_by_line(edits: list[tuple[int, int, str]]) -> None:
    """A randomly corrupted study is either read or refused with file and line in one line."""
    text = STUDY
    for at, length, junk in edits:
        text = text[:at] + junk + text[at + length :]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "study.toml"
        file.write_bytes(text.encode(errors="surrogatepass"))
        told = None
        try:
            read_study(file)
        except InputError as error:
            told = error
    if told is not None:
        assert str(told).startswith(f"{file}:{told.line}: ")
        assert 1 <= told.line <= text.count("\n") + 1
        assert len(str(told).splitlines()) == 1
        assert not [word for word in FOREIGN if word in told.must]


def test_windows_text_and_its_mark_are_read(tmp_path: Path) -> None:
    """A byte order mark and CRLF line ends are accepted, and line numbers stay correct."""
    file = tmp_path / "study.toml"
    file.write_bytes(b"\xef\xbb\xbf" + STUDY.replace("\n", "\r\n").encode())
    assert read_study(file).run.cycles == 3000

    file.write_bytes(b"\xef\xbb\xbf" + STUDY.replace("k = 2", "k = 1").replace("\n", "\r\n").encode())

    with pytest.raises(InputError, match=r":4: network\.k must be at least 2"):
        read_study(file)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"vlarb": {"high": [],\n "high": []}}', "2: vlarb.high is given twice"),
        (b'{"drr": {"quantum": [1, 2\n}}', "2: content: invalid JSON, expected , between elements: }}"),
        (b'{"drr": {"quantum": [1,\n 256]}}', "2: drr.quantum[1] must be 0 to 255, not 256"),
        (b'{"drr":\n {"quantums": [1]}}', "2: drr.quantums: unknown key (known: quantum); did you mean quantum?"),
        (
            b'{"vlarb":\n {"high": [[0]],\n "limit_of_high_priority": 1}}',
            "2: vlarb.high[0] must be a pair [VL, weight], not [0]",
        ),
        (b'{"vlarb":\n {"high": 3}}', "2: vlarb.high must be a list, not 3"),
        (b"[1]", "1: content must be a section, not [1]"),
        (b'{"a":\n"\xff"}', "2: table file is not UTF-8 text: byte 0xff"),
        (b"[" * 100_000, "content is nested too deep"),
    ],
)
def test_line_of_a_json_table_is_reported(content: bytes, said: str, tmp_path: Path) -> None:
    """An error in a JSON table names its line, also for a key given twice."""
    file = tmp_path / "table.json"
    file.write_bytes(content)

    with pytest.raises(InputError) as told:
        tables.read_tables(file)

    assert str(told.value).startswith(f"{file}:{said}") or (said.startswith("content") and said in str(told.value))


def test_a_file_without_an_end_is_refused() -> None:
    """Given a file larger than any table, reading stops at the limit."""
    with pytest.raises(InputError, match="is larger than 67108864 bytes"):
        read_document(Path("/dev/zero"), "table file")


def test_keys_that_a_model_has_are_known(tmp_path: Path) -> None:
    """Keys of the model are recognised whether or not the document contains them.

    In a union, only keys of the selected model are recognised.
    """
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    document = read_document(file, "study file")

    assert is_key(study.Study, document, ("buffers", "blocks"))
    assert is_key(study.Study, document, ("traffic", 1, "sl"))
    assert is_key(study.Study, document, ("network", "k"))
    assert not is_key(study.Study, document, ("network", "size"))
    assert not is_key(study.Study, document, ("routes",))
