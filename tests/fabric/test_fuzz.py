"""Fuzzing of the importers: a fabric or one InputError, never another exception."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import DATA
from vlane.errors import InputError
from vlane.fabric.capture import load_fabric
from vlane.fabric.check import check_fabric
from vlane.schedulers.table_files import read_vlarb_table
from vlane.study.arrivals import read_arrivals, read_credits

FILES = (
    "ibnetdiscover.txt",
    "opensm-lfts.dump",
    "dump_fts.txt",
    "opensm-sl2vl.dump",
    "smpquery-sl2vl.txt",
    "smpquery-vlarb.txt",
    "path-sl.csv",
    "saquery-path.txt",
    "opensm.conf",
    "smpquery-portinfo.txt",
)
JUNK = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["\n", "|", ":", "#", "$ ", "-1", "0x", "255", "256", "99999999999999999999", "\0", "'", '"', "[", "]", "²"]
    ),
)
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 60), JUNK), max_size=4)


def spoiled(text: str, edits: list[tuple[float, int, str]], keep: float) -> str:
    for place, length, junk in edits:
        at = int(place * len(text))
        text = text[:at] + junk + text[at + length :]
    return text[: int(len(text) * keep)] if keep < 0.9 else text


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(edits=EDITS, keep=st.floats(0, 1.5))
def test_spoiled_capture_is_read_or_refused(name: str, edits: list[tuple[float, int, str]], keep: float) -> None:
    """A capture with inserted, removed or truncated text is read, or refused in one line."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for file in (DATA / "two_switch").iterdir():
            if (name, file.name) in {("dump_fts.txt", "opensm-lfts.dump"), ("saquery-path.txt", "path-sl.csv")}:
                continue
            if file.name in FILES:
                (folder / file.name).write_bytes(file.read_bytes())
        text = (DATA / "two_switch" / name).read_text()
        (folder / name).write_text(spoiled(text, edits, keep), encoding="utf-8", errors="surrogateescape")

        said = ""
        try:
            check_fabric(load_fabric(folder))
        except InputError as refused:
            said = str(refused)

    assert "\n" not in said
    assert not said or said.startswith(f"{folder}")


@settings(max_examples=150)
@given(content=st.binary(max_size=200))
@pytest.mark.parametrize("reader", [read_arrivals, read_credits, read_vlarb_table])
def test_binary_junk_is_refused(reader: object, content: bytes) -> None:
    """Random bytes are refused as traffic and as a table."""
    assert callable(reader)
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "junk"
        file.write_bytes(content)

        with pytest.raises(InputError) as refused:
            reader(file)

        assert "\n" not in str(refused.value)


@settings(max_examples=150)
@given(
    document=st.recursive(
        st.one_of(st.integers(-300, 300), st.floats(allow_nan=False), st.booleans(), st.text(max_size=5)),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["high", "low", "x"]), inner, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_junk_in_a_table_file_is_refused(document: object) -> None:
    """Random JSON below ``vlarb`` is refused."""
    import json  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "table.json"
        file.write_text(json.dumps({"vlarb": document}))

        with pytest.raises(InputError, match=r"table\.json:\d+: vlarb\S*:? "):
            read_vlarb_table(file)
