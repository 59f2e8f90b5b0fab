"""OpenSM's options as OpenSM reads them: lines, quotes, numbers, lists, and the findings of a check."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from vlane.errors import InputError
from vlane.fabric.capture import load_fabric
from vlane.fabric.check import check_fabric
from vlane.fabric.dumps.opensm_conf import complaints, is_misread, opensm_options, read_opensm_conf
from vlane.fabric.dumps.opensm_numbers import strtol, strtoul
from vlane.fabric.model import Kind
from vlane.fabric.option_findings import line_findings

OWN = (
    "LIMIT_REPLACED",
    "ENTRY_MALFORMED",
    "SL2VL_SHORT",
    "ENTRIES_DROPPED",
    "OPTION_UNKNOWN",
    "OPTION_IGNORED",
    "OPTION_CUT",
    "QOS_OFF",
    "MAX_VLS_IGNORED",
)
"""Codes that the options alone decide."""


def findings(options: str, folder: Path) -> list[tuple[str, str]]:
    (folder / "opensm.conf").write_text(options)
    return [(f.code, f"{f.where} {f.message}") for f in check_fabric(load_fabric(folder)).warnings if f.code in OWN]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("qos_high_limit '4'", "4"),
        ('qos_high_limit "4"', "4"),
        ("qos_high_limit\t  4  # four", "4"),
        ("  qos_high_limit '4\"", "'4\""),
        ("qos_high_limit ' 4 '", " 4 "),
        ("qos_high_limit", ""),
        ("qos_high_limit '", ""),
        ("qos_high_limit ''4''", "'4'"),
        ("qos_high_limit '4#'", "'4"),
    ],
)
def test_values_lose_blanks_then_one_pair_of_quotes(line: str, value: str) -> None:
    """Quotes are stripped as by OpenSM's clean_val, and a comment ends the value."""
    option = opensm_options("opensm.conf", line).options[0]

    assert (option.name, option.value) == ("qos_high_limit", value)


def test_the_last_line_counts_unless_it_cannot_be_parsed() -> None:
    """The value (null) unsets a list, and an unparsable number of lanes keeps the earlier number."""
    conf = opensm_options(
        "opensm.conf", "qos_vlarb_high 0:1\nqos_vlarb_high (null)\nqos_max_vls 4\nqos_max_vls four\nmax_op_vls 0x3\n"
    )
    configured = conf.configured(Kind.CA)

    assert configured.high.line == 0
    assert configured.max_vls.value == "4"
    assert conf.max_op_vls == 4
    (ignored,) = line_findings(conf)
    assert (ignored.where, ignored.message[:27]) == ("opensm.conf:4 qos_max_vls", "'four' is not a number, 0 t")


@pytest.mark.parametrize(
    ("text", "entries", "warned", "misread"),
    [
        ("0x1:0xC0,0x2:0x80", [(1, 192), (2, 128)], [], False),
        ("010:020", [(8, 16)], [], False),
        ("0:65,1:65,", [(0, 65), (1, 65)], [], False),
        ("0:65,,1:65", [(0, 65), (0, 1), (5, 0)], [], True),
        (",0:65", [(0, 0), (5, 0)], [], True),
        ("0:4 ,1:8", [(0, 4), (0, 1), (8, 0)], ["4 "], True),
        ("0:4, 1:8", [(0, 4), (1, 8)], [], False),
        ("0 :4,1:8", [(0, 0), (4, 1), (8, 0)], ["0 "], True),
        ("0:4;1:8", [(0, 4), (1, 8)], ["4;1:8"], False),
        ("0-4", [(0, 4)], ["0-4"], True),
        ("1:,2:3", [(1, 0), (2, 3)], [], False),
        ("3:256,16:-1", [(3, 0), (1, 255)], ["256", "16", "-1"], False),
        ("1:99999999999999999999", [(1, 255)], ["9223372036854775807"], False),
        ("0x:5", [(0, 0), (5, 0)], ["0x"], True),
    ],
)
def test_lists_are_read_as_opensm_reads_them(
    text: str,
    entries: list[tuple[int, int]],
    warned: list[str],
    misread: bool,  # noqa: FBT001
) -> None:
    """Hexadecimal, octal, trailing commas and empty parts, blanks, other separators, numbers out of range."""
    configured = opensm_options("opensm.conf", f"qos_vlarb_low {text}").configured(Kind.SWITCH)
    programmed = configured.programmed_list(configured.low, cap=8, vls=15)

    assert [tuple(entry) for entry in programmed[: len(entries)]] == entries
    assert set(programmed[len(entries) :]) <= {(0, 0)}
    assert [each.text for each in complaints(configured.low)] == warned
    assert is_misread(configured.low) == misread or warned


def test_lanes_count_as_strtok_counts_them() -> None:
    """Ten lanes and a trailing comma count as ten lanes, and missing lanes are 0."""
    configured = opensm_options("opensm.conf", "qos_sl2vl 0,1,2,3,4,5,6,7,0,1,").configured(Kind.SWITCH)

    assert [(each.kind, each.text) for each in complaints(configured.sl2vl)] == [("short", "10")]
    assert configured.programmed_row(8) == (0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 0, 0, 0, 0, 0, 0)
    assert not is_misread(configured.sl2vl)


TEMPLATE = "".join(
    f"qos_{kind}max_vls 0\nqos_{kind}high_limit -1\nqos_{kind}vlarb_high (null)\nqos_{kind}vlarb_low (null)\n"
    f"qos_{kind}sl2vl (null)\n"
    for kind in ("", "ca_", "sw0_", "swe_", "sw2sw_", "rtr_")
)


def test_unset_options_are_no_finding(capture_copy: Any) -> None:
    """OpenSM's template has -1, 0 and (null), also of a port type that only other versions know."""
    folder = capture_copy("two_switch")
    assert findings(f"qos TRUE\nqos_policy_file (null)\n{TEMPLATE}", folder) == []
    assert findings(f"qos FALSE\n{TEMPLATE}", folder) == []
    assert findings(f"qos FALSE\n{TEMPLATE}qos_ca_high_limit 3\n", folder)[0][0] == "QOS_OFF"


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ("qos_high_limit 300", "LIMIT_REPLACED", "300 is not 0 to 255: OpenSM programs 0"),
        ("qos_high_limit 4x", "LIMIT_REPLACED", "'4x' is not a number: OpenSM reads 4"),
        ("qos_high_limit 7\nqos_swe_high_limit (null)", "LIMIT_REPLACED", "'(null)' is not a number: OpenSM reads 0"),
        ("qos_vlarb_high 0:4;1:8", "ENTRY_MALFORMED", "'4;1:8' is not VL:weight"),
        ("qos_vlarb_high 0:4,,1:8", "ENTRY_MALFORMED", "empty part: OpenSM reads the list as 0:4,0:1,8:0"),
        ("qos_sl2vl 0,1,2 ,3,4,5,6,7,0,1,2,3,4,5,6,7", "ENTRY_MALFORMED", "'2 ' is not a lane"),
        ("qos_sl2vl 0,1,2,", "SL2VL_SHORT", "3 of 16 lanes given"),
        (f"qos_sl2vl {'0,' * 17}", "ENTRIES_DROPPED", "17 lanes are given, but there are 16 SLs"),
        ("qos_vlarb_hihg 0:4", "OPTION_UNKNOWN", ":2 qos_vlarb_hihg OpenSM does not know this option"),
        ("cc_sw_cong_setting_treshold 4", "OPTION_UNKNOWN", "cc_sw_cong_setting_treshold"),
        ("QOS_HIGH_LIMIT 4", "OPTION_UNKNOWN", "QOS_HIGH_LIMIT"),
        ("qos_high_limit=4", "OPTION_UNKNOWN", "qos_high_limit=4"),
        ("[qos]", "OPTION_UNKNOWN", "[qos]"),
        ("max_op_vls three", "OPTION_IGNORED", "'three' is not a number, 0 to 255"),
        ("qos_max_vls 017", "MAX_VLS_IGNORED", "017 has no effect"),
        ("qos_max_vls 16", "OPTION_IGNORED", "'16' is not a number, 0 to 15"),
        ("qos_vlarb_high 0:4," + " " * 1100 + "1:8", "OPTION_CUT", ":2"),
    ],
)
def test_lines_that_are_read_otherwise_are_found(options: str, code: str, words: str, capture_copy: Any) -> None:
    """With the file, the line, the option, and the reading of OpenSM."""
    folder = capture_copy("two_switch")
    found = findings(f"qos TRUE\n{options}\n", folder)

    assert any(each == code and words in text for each, text in found), found


def test_unknown_options_are_named_once(capture_copy: Any) -> None:
    """However often they are in the file."""
    folder = capture_copy("two_switch")
    found = findings("qos TRUE\n" + "qos_sw2sw_sl2vl 0,1\n" * 3, folder)

    assert [code for code, _ in found] == ["OPTION_UNKNOWN"]


@pytest.mark.parametrize("kind", ["'{}'", '"{}"', " {} ", "{},"])
def test_equivalent_spellings_check_alike(kind: str, capture_copy: Any) -> None:
    """Quotes, blanks and trailing commas change nothing in the shipped configuration."""
    folder = capture_copy("two_switch")
    file = folder / "opensm.conf"
    plain = check_fabric(load_fabric(folder)).warnings
    lines = [line.split(" ", 1) for line in file.read_text().splitlines() if line.startswith("qos_")]
    file.write_text(
        "# as before\nqos TRUE\n#\n"
        + "".join(f"{name} {kind.format(value) if ',' in value else value}\n" for name, value in lines)
    )

    assert check_fabric(load_fabric(folder)).warnings == plain


@pytest.mark.parametrize(
    ("text", "signed", "unsigned", "whole"),
    [
        ("", 0, 0, True),
        ("x", 0, 0, False),
        (" \t12", 12, 12, True),
        ("12 ", 12, 12, False),
        ("+7", 7, 7, True),
        ("-1", -1, 2**64 - 1, True),
        ("- 1", 0, 0, False),
        ("0x", 0, 0, False),
        ("0xfG", 15, 15, False),
        ("08", 0, 0, False),
        ("017", 15, 15, True),
        ("9" * 30, 2**63 - 1, 2**64 - 1, True),
        ("-" + "9" * 30, -(2**63), 2**64 - 1, True),
        ("18446744073709551615", 2**63 - 1, 2**64 - 1, True),
        ("-9223372036854775808", -(2**63), 2**63, True),
    ],
)
def test_numbers_are_those_of_c(text: str, signed: int, unsigned: int, whole: bool) -> None:  # noqa: FBT001
    """Of strtol and strtoul with base 0, and whether their end pointer is at the end."""
    assert strtol(text.encode()) == (signed, whole)
    assert strtoul(text.encode()) == (unsigned, whole)


def test_a_file_without_any_option_is_refused(tmp_path: Path) -> None:
    """Lines that begin with no name are not options."""
    (tmp_path / "opensm.conf").write_text("[1]\n= x\n")
    with pytest.raises(InputError, match="OpenSM options"):
        read_opensm_conf(tmp_path / "opensm.conf")


@pytest.mark.parametrize(
    ("conf", "held", "codes", "words"),
    [
        ("qos_high_limit 4", 255, {"LIMIT_DIFFERS", "STARVATION"}, "LimitOfHighPriority is 255, but OpenSM makes 4"),
        ("qos_high_limit 4", 4, set(), ""),
        ("qos_high_limit 4", 0, set(), ""),
        ("qos_high_limit -1", 16, {"LIMIT_DIFFERS"}, "is 16, but OpenSM makes 0"),
    ],
)
def test_limits_that_ports_hold_are_compared(
    conf: str, held: int, codes: set[str], words: str, capture_copy: Any
) -> None:
    """A limit that differs from the options is a finding. Limits of 0 at all ports are a simulator's assumption."""
    folder = capture_copy("irregular_s1")
    (folder / "opensm.conf").write_text(f"qos TRUE\n{conf}\n")
    file = folder / "smpquery-portinfo.txt"
    file.write_text(re.sub(r"(VLHighLimit:\.*)0", rf"\g<1>{held}", file.read_text()))

    report = check_fabric(load_fabric(folder))

    found = [each for each in report.warnings if each.code in ("LIMIT_DIFFERS", "STARVATION")]
    assert {each.code for each in found} == codes
    assert all(words in each.message for each in found if each.code == "LIMIT_DIFFERS")
    assert any("VLHighLimit is 0" in each for each in report.assumptions) == (held == 0)
