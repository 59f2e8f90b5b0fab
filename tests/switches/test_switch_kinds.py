"""Switch kinds and credit schemes: one record per kind, and no code outside asks for a kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from vlane.credits.credit_schemes import CREDIT_SCHEMES
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cosim.soak import SWITCHES
from vlane.study.study import Link, SwitchSection
from vlane.switches.switch_kinds import MOST_ITERATIONS, MOST_SPEED, SWITCH_KINDS, SwitchKind

ROOT = Path(__file__).parent.parent.parent
LAYERS = ("vlane", "golden", "hdl", "tb", "sim_top")
KIND_TYPES = {
    "IBSwitches",
    "FasterIBSwitches",
    "FifoSwitches",
    "PerVLSwitches",
    "PerVLFifoSwitches",
    "FlitSwitches",
    "OPASwitches",
    "IBSwitch",
    "PerVLSwitch",
    "OPASwitch",
    "Routes",
    "ChannelRoutes",
    "Rooms",
    "FCPLimits",
}
"""Types specific to one switch kind or one credit scheme."""

KIND_WORDS = (
    {each.name for each in SWITCH_KINDS.values()}
    | {each.block for each in SWITCH_KINDS.values()}
    | {word for kind in SWITCH_KINDS.values() for form in kind.forms for word in (form.allocation, form.crossbar)}
    | set(CREDIT_SCHEMES)
)


def _names(node: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _words(node: ast.expr) -> set[str]:
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def _questions(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and expression of each type test or comparison that distinguishes kinds or schemes."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"isinstance", "issubclass"}
        ):
            for name in _names(node.args[1]) & KIND_TYPES:
                yield node.lineno, f"{node.func.id} {name}"
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.In | ast.NotIn):
            for word in set().union(*map(_words, (node.left, *node.comparators))) & KIND_WORDS:
                if word == "ib" and "form" in ast.unparse(node):  # "ib" is also a form of the Deficit Table
                    continue
                yield node.lineno, f"compares with {word!r}"


def _sources() -> list[Path]:
    return [file for layer in LAYERS for file in sorted((ROOT / layer).rglob("*.py"))]


def test_only_the_records_distinguish_kinds() -> None:
    """No code outside the records distinguishes switch kinds, so a new kind needs no other changes."""
    found = [
        f"{file.relative_to(ROOT)}:{line}: {what}"
        for file in _sources()
        for line, what in _questions(ast.parse(file.read_text()))
    ]

    assert found == []


@pytest.mark.parametrize(
    "line", ['kind == "opa"', 'form in ("fifo", "per_vl")', "isinstance(switches, OPASwitches)", '"fcp" != credit']
)
def test_the_rule_finds_what_it_forbids(line: str) -> None:
    """Given a line that distinguishes kinds, the check finds the line."""
    assert list(_questions(ast.parse(line)))


@pytest.mark.parametrize("kind", SWITCH_KINDS.values(), ids=SWITCH_KINDS)
def test_every_kind_is_a_block_and_can_be_studied(kind: SwitchKind) -> None:
    """Each switch kind names an existing block, study values and supported forms."""
    link, switch = Link.model_fields, SwitchSection.model_fields

    assert BLOCKS[kind.block].name in SWITCHES
    assert ("credit" in BLOCKS[kind.block].parameters([], {})) == (len(kind.hardware_credits) > 1)
    assert set(kind.link_maps) <= set(link)
    assert {each.name for each in kind.credits} <= set(get_args(link["credits"].annotation))
    assert {form.allocation for form in kind.forms} <= set(get_args(switch["allocation"].annotation))
    assert {form.crossbar for form in kind.forms} <= set(get_args(switch["crossbar"].annotation))
    parameters = BLOCKS[kind.block].parameters([], {})
    assert kind.forms[0].in_hardware
    assert all((name in parameters) == (len(kind.hardware_forms) > 1) for name in ("crossbar", "allocation"))
    assert all(1 <= form.most_iterations <= MOST_ITERATIONS for form in kind.forms)
    assert all(1 <= form.most_speed <= MOST_SPEED for form in kind.forms)


def test_studies_name_all_kinds_and_schemes() -> None:
    """Studies accept every recorded switch kind and credit scheme."""
    assert set(get_args(SwitchSection.model_fields["kind"].annotation)) == set(SWITCH_KINDS)
    assert set(get_args(Link.model_fields["credits"].annotation)) == set(CREDIT_SCHEMES)
