"""The results object: its text and the traces of its runs."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import vlane
from vlane.errors import InputError

STUDY = vlane.Study.from_dict(
    {
        "network": {"topology": "tree", "k": 2, "n": 2},
        "buffers": {"blocks": 64},
        "traffic": [{"sl": 0}],
        "run": {"loads": [0.2], "seeds": [1, 2], "cycles": 700, "warm_up_cycles": 100},
    }
)


def test_results_are_shown_in_a_few_lines(tmp_path: Path) -> None:
    """The text of results names runs, swept values and tables within 80 columns and 24 lines."""
    results = STUDY.run(sweep={"buffers.blocks": [64, 128]}, out=tmp_path / "out", trace=True)

    lines = repr(results).splitlines()
    assert lines[:4] == ["<Results of 4 runs", "  buffers.blocks: 64, 128", "  load: 0.2", "  seed: 1, 2"]
    assert f"  links: {len(results.links):,} rows, {results.links.width} columns" in "\n".join(lines)
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    seen = results.traces().group_by("buffers.blocks", "seed", maintain_order=True).len()
    assert seen.select("buffers.blocks", "seed").rows() == [(64, 1), (64, 2), (128, 1), (128, 2)]
    arrived = results.traces()["delivered_cycle"].drop_nulls().len()
    assert arrived >= results.levels["packets"].sum() > 0
    assert results.where({"seed": 2}).traces()["seed"].unique().to_list() == [2]
    assert vlane.Results.read(tmp_path / "out").traces().equals(results.traces())


def test_results_without_traces_say_how_to_make_them(tmp_path: Path) -> None:
    """Without traced runs, the error names the option that traces runs."""
    results = STUDY.run(out=tmp_path / "out")

    with pytest.raises(InputError, match="no run was traced; run with trace=True"):
        results.traces()
    with pytest.raises(InputError, match="no run was traced"):
        STUDY.run().traces()


def test_every_file_of_results_states_the_units_of_its_columns(tmp_path: Path) -> None:
    """The metadata of each Parquet file has the units of its columns, and every number has a unit or is a number."""
    study = STUDY.with_({"measure": {"flows": True, "histograms": True, "every": 100, "sources": True}})
    results = study.run(out=tmp_path / "out", trace=True)
    saved = results.save(tmp_path / "saved")

    files = [*sorted((tmp_path / "out").rglob("*.parquet")), *sorted(saved.glob("*.parquet"))]
    assert len(files) == 7 + 2 * 6 + 7
    for file in files:
        units = json.loads(pl.read_parquet_metadata(file)["vlane.units"])
        schema = pl.read_parquet_schema(file)
        without = {name.removeprefix("run_") for name, kind in schema.items() if kind.is_numeric()} - set(units)
        assert {name for name in without if f"run_{name}" not in units} <= _NUMBERS, file
        assert set(units) <= set(schema)
    assert json.loads(pl.read_parquet_metadata(saved / "links.parquet")["vlane.units"])["waited_ns"] == "ns"


_NUMBERS = {"seed", "sl", "vl", "source", "destination", "from_id", "from_port", "to_id", "to_port", "dlid", "lrh"}
