"""Parameters of components: validation and use as mappings."""

from __future__ import annotations

from typing import Any

import pytest

from vlane.errors import InputError
from vlane.sim_top.blocks import BLOCKS


@pytest.mark.parametrize("name", BLOCKS)
def test_a_record_is_a_mapping_of_its_values(name: str) -> None:
    """A parameter record is a mapping with value equality, defaults and descriptions for each field."""
    shape = BLOCKS[name].shape
    usual = shape()

    assert dict(usual) == shape.defaults() == BLOCKS[name].defaults()
    assert shape(**usual) == usual
    assert hash(shape(**usual)) == hash(usual)
    assert {row[0]: row[1] for row in usual.described()} == dict(usual)
    assert all(row[2] and row[3] for row in usual.described())
    with pytest.raises(KeyError):
        usual["oops"]


@pytest.mark.parametrize("name", BLOCKS)
def test_every_field_refuses_wrong_values(name: str) -> None:
    """Each field refuses values out of range, and the error names field and range.

    A value of the wrong type raises TypeError.
    """
    shape = BLOCKS[name].shape
    for field, default, may_be, _ in shape().described():
        wrong: Any = "oops" if isinstance(default, str) else -1
        if isinstance(default, bool):
            with pytest.raises(TypeError, match=f"{field} must be a bool"):
                shape(**{field: 1})
            continue
        with pytest.raises(InputError) as refused:
            shape(**{field: wrong})
        assert refused.value.field == field
        assert refused.value.must.removeprefix("one of ") == may_be
        with pytest.raises(TypeError, match=f"{field} must be"):
            shape(**{field: 2.5})


def test_words_of_the_command_line_become_values() -> None:
    """Words of ``--param`` are parsed, and choosing a form sets its defaults.

    Errors name the option.
    """
    shape = BLOCKS["dtable"].shape

    chosen = shape.of_words(["form=line_rate", "data_vls=4", "vl15=no"], {"requesters": 6})
    assert (chosen["requesters"], chosen["data_vls"], chosen["vl15"]) == (0, 4, False)
    with pytest.raises(InputError) as refused:
        shape.of_words(["form=line_rate", "requesters=6"], {})
    assert (refused.value.field, refused.value.got) == ("--param requesters", 6)


@pytest.mark.parametrize(("name", "form"), [("vlarb", "exact"), ("vlarb", "line_rate"), ("dtable", "ib")])
def test_a_form_refuses_the_parameters_of_another(name: str, form: str) -> None:
    """Given the parameters of a different form, a component class raises an error."""
    other: Any = BLOCKS[name].component
    usual = BLOCKS[name].shape()
    component = next(each for known, each in other.forms.items() if known != usual["form"])

    with pytest.raises(InputError, match="form must be"):
        component(usual)
    assert BLOCKS[name].make({**usual, "form": form, "entries": 8}).form == form
