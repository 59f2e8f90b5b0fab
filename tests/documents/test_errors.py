"""Errors about bad input: both forms of the message, and copies with another field or place."""

from __future__ import annotations

import pickle

import pytest

from vlane.errors import InputError, misplaced, missing_value, shown


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("network.k", "at least 2", 1), "network.k must be at least 2, not 1"),
        (InputError("k", "2", 1, source="a.toml", line=3, meant="n"), "a.toml:3: k must be 2, not 1; did you mean n?"),
        (InputError("k", "known", "unknown", problem=": unknown key", meant="n"), "k: unknown key; did you mean n?"),
        (InputError("file", "readable", "none", problem="cannot be read", source="a"), "a: file cannot be read"),
        (missing_value("k"), "k is missing"),
        (missing_value("k", "give k or n", source="a.toml", line=2), "a.toml:2: k is missing: give k or n"),
        (misplaced("k", "with n"), "k cannot be used with n"),
    ],
)
def test_message_has_one_of_two_forms(error: InputError, message: str) -> None:
    """The words after the field are the problem, or the accepted and the rejected value."""
    assert str(error) == message


def test_fields_describe_the_error_in_both_forms() -> None:
    """A program need not parse the message: accepted and rejected values are attributes in either form."""
    left_out, absent = misplaced("k", "with n"), missing_value("k", "give k or n")

    assert (left_out.field, left_out.must, left_out.got) == ("k", "left out with n", "given")
    assert (absent.field, absent.must, absent.got) == ("k", "given", "missing")
    assert left_out.problem == "cannot be used with n"
    assert InputError("k", "2", 1).problem == ""


def test_copies_keep_everything_else() -> None:
    """Copies with a place, with another field, and through pickle have the same problem, details and suggestion."""
    error = InputError("k", "known", "unknown", problem=": unknown key", details=("first", "second"), meant="n", line=4)

    placed, renamed, sent = error.at("a.toml"), error.of("network.k"), pickle.loads(pickle.dumps(error))  # noqa: S301

    assert str(placed) == "a.toml:4: k: unknown key; did you mean n?"
    assert str(renamed) == "network.k: unknown key; did you mean n?"
    assert str(sent) == str(error)
    for copy in (placed, renamed, sent):
        assert (copy.must, copy.got, copy.problem) == ("known", "unknown", ": unknown key")
        assert (copy.details, copy.meant) == (("first", "second"), "n")


def test_values_are_escaped_and_shortened() -> None:
    """Values cannot change the terminal and have at most 80 characters."""
    assert shown("a\x1b[2J\n") == "a\\x1b[2J\\n"
    assert len(shown("x" * 5000)) == 80
    assert str(InputError("k", "short", "y" * 5000)).endswith("yyy...")
    assert shown(10**5000) == "a number with too many digits"
