"""Reference of files and blocks: completeness, and agreement with the models that read files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest

from tests.conftest import ROOT, STUDY, TABLE, call
from vlane.errors import InputError
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.reference.file_keys import FileSection, sections_of
from vlane.sim_top.reference.markdown import block_page, keys_page
from vlane.sim_top.reference.schemas import SCHEMAS, schema_of
from vlane.study.networks import NETWORKS
from vlane.study.study import Study

CONFIGS = sorted((ROOT / "sim_top" / "configs").glob("*.toml"))
MAPS = sorted((ROOT / "docs" / "examples" / "foreign_arbiters").glob("*.toml"))
PUBLIC = sorted(
    file
    for file in (ROOT / "docs" / "examples" / "public_arbiters").glob("*.toml")
    if not file.stem.endswith(("_policy", "_table")) and file.stem not in {"arbiters", "measure"}
)


def accepts(kind: str, content: dict[str, Any]) -> bool:
    """Return whether a schema accepts a file's content."""
    text = json.dumps(schema_of(kind)).replace("_$]", r"_\\x24]")  # this validator takes each $ for the end
    schema = {key: value for key, value in json.loads(text).items() if key != "$schema"}  # a draft it does not know
    try:
        fastjsonschema.compile(schema, use_default=False)(content)
    except fastjsonschema.JsonSchemaValueException:
        return False
    return True


def kind_of(file: Path) -> str:
    """Return the kind of an example file."""
    content = tomllib.loads(file.read_text())
    telling = {"network": "study", "dtable_plan": "plan", "level": "wants", "outputs": "map"}
    return next((kind for key, kind in telling.items() if key in content), "tables")


@pytest.mark.parametrize("kind", SCHEMAS)
def test_every_key_has_a_meaning_and_every_section_says_what_it_is(kind: str) -> None:
    """Every key and section of the reference has a description and a range."""
    sections = sections_of(kind)

    assert [f"{each.heading} {key.name}" for each in sections for key in each.keys if len(key.about) < 5] == []
    assert [each.heading for each in sections if not each.about] == []
    assert len({each.heading for each in sections}) == len(sections)
    assert [f"{each.heading} {key.name}" for each in sections for key in each.keys if not key.may_be] == []


def test_every_key_of_the_study_model_is_in_the_reference() -> None:
    """Every key of the study model is in the reference."""
    shown = {
        (each.heading.strip("[]").partition("]")[0], key.name) for each in sections_of("study") for key in each.keys
    }

    wanted = {("network", name) for network in NETWORKS for name in network.model_fields}
    for section, field in Study.model_fields.items():
        if section != "network":
            wanted |= keys_of(section, next(models(field.annotation)))
    assert shown == wanted


def keys_of(section: str, model: Any) -> set[tuple[str, str]]:
    """Return the keys of a section and of its nested sections."""
    found = set()
    for name, field in model.model_fields.items():
        inner = next(models(field.annotation), None)
        found |= {(section, name)} if inner is None else keys_of(f"{section}.{name}", inner)
    return found


def models(annotation: Any) -> Iterator[Any]:
    """Yield the model within a list or optional annotation."""
    if hasattr(annotation, "model_fields"):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from models(inner)


@pytest.mark.parametrize("file", [*CONFIGS, *MAPS, *PUBLIC], ids=lambda file: file.stem)
def test_schemas_accept_every_example(file: Path) -> None:
    """The schemas accept every shipped example."""
    assert accepts(kind_of(file), tomllib.loads(file.read_text()))


@pytest.mark.parametrize(
    ("kind", "text", "change"),
    [
        ("study", STUDY, ("k = 2", "k = 1")),
        ("study", STUDY, ("k = 2", "knots = 2")),
        ("study", STUDY, ('"tree"', '"bush"')),
        ("study", STUDY, ("blocks = 64", 'blocks = "64"')),
        ("study", STUDY, ("share = 0.5", "share = 0")),
        ("study", STUDY, ("[run]", "[runs]")),
        ("tables", TABLE, ("limit_of_high_priority = 10", "")),
        ("tables", TABLE, ("high", "higher")),
        ("map", MAPS[0].read_text(), ("gnt_o", "")),
        ("map", MAPS[0].read_text(), ("latency = 1", "latency = 65")),
        ("map", MAPS[0].read_text(), ("[outputs]", "[output]")),
    ],
)
def test_schemas_refuse_invalid_files(kind: str, text: str, change: tuple[str, str]) -> None:
    """Given a change the model refuses, the schema refuses it, too."""
    wrong = text.replace(*change)

    assert accepts(kind, tomllib.loads(text))
    assert wrong != text
    assert not accepts(kind, tomllib.loads(wrong))


def test_ranges_and_defaults_are_those_of_the_model() -> None:
    """The reference shows the model's limits and defaults."""
    keys = {key.name: key for each in sections_of("study") if each.heading == "[buffers]" for key in each.keys}
    word = next(key for each in sections_of("study") if each.heading == "[scheduler]" for key in each.keys)

    assert (keys["blocks"].may_be, keys["blocks"].default) == ("whole number, 1 to 1048576", "1792")
    assert keys["minimum_blocks"].may_be == "whole number, or list, 1 to 31, of: whole number, at least 0"
    assert (word.default, '"vlarb", "dtable"' in word.may_be) == ('"rr"', True)


def test_pages_are_tables_that_a_bar_in_a_text_does_not_break() -> None:
    """Bars within cells are escaped in the reference tables."""
    for kind in SCHEMAS:
        rows = [line for line in keys_page(kind) if line.startswith("| `")]
        assert rows
        assert {line.replace("\\|", "").count("|") for line in rows} == {5}


@pytest.mark.parametrize("name", ["vlarb", "credit_ib", "lft"])
def test_page_of_a_block_has_every_parameter_and_every_port(name: str) -> None:
    """A block's reference page lists every parameter and port of the default instance."""
    text = "\n".join(block_page(name, pages="../"))

    assert all(f"| `{parameter}` |" in text for parameter in BLOCKS[name].defaults())
    assert "| `clk` | input | 1 |" in text
    assert f"(../{name}.md)" in text


def test_command_writes_the_schema_or_shows_the_keys(tmp_path: Path) -> None:
    """``vlane schema`` writes a schema or lists the keys of a file."""
    file = tmp_path / "study.schema.json"

    assert call("schema", "study", "--out", file).status == 0
    assert json.loads(file.read_text()) == schema_of("study")
    assert json.loads(call("schema", "tables").out) == schema_of("tables")
    shown = json.loads(call("schema", "plan", "--keys", "--json").out)["sections"]
    assert shown[0]["section"] == "[dtable_plan]"
    assert "required" in call("schema", "plan", "--keys").out


def test_command_refuses_unknown_arguments(tmp_path: Path) -> None:
    """Given bad arguments, ``vlane schema`` prints one line and writes nothing."""
    missing = tmp_path / "no" / "folder.json"
    for words, said in (
        (("schema", "stduy"), "did you mean study?"),
        (("schema", "study", "--keys", "--out", "x.json"), "--out"),
        (("schema", "study", "--out", missing), "--out"),
    ):
        refused = call(*words)
        assert refused.status == 2
        assert said in refused.err
        assert refused.err.count("\n") == 1
    assert not missing.exists()
    with pytest.raises(InputError, match="KIND"):
        schema_of("")


def test_lists_of_sections_differ_from_sections() -> None:
    """The reference distinguishes lists of sections such as ``[[traffic]]`` from single sections."""
    headings = [each.heading for each in sections_of("study")]

    assert isinstance(sections_of("study")[0], FileSection)
    assert {"[[traffic]]", "[[stall]]", "[run]", '[network] topology = "tree"'} <= set(headings)
    assert "[[dtable_plan.sl]]" in [each.heading for each in sections_of("plan")]
