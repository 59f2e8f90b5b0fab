"""Write the sign-off checklist of every block into ``docs/checklist.md``.

    python docs/_ext/checklist.py [--check]

Each field comes from committed data: the block's declarations, generated tables of pages, and records under
``docs/evidence``. ``--check`` changes nothing and fails if the page is out of date.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vlane.sim_top.blocks import BLOCKS, Block
from vlane.sim_top.cosim.soak_draws import values_of
from vlane.tb.by_name import crosses, plants

__all__ = ["checklist_of", "is_behind"]

_DOCS = Path(__file__).resolve().parent.parent
_PAGE = _DOCS / "checklist.md"
_STUCK = _DOCS.parent / "tb" / "machinery" / "proofs" / "stuck.toml"
_LISTS = re.compile(r"(?<=<!-- checklists -->\n).*?(?=<!-- /checklists -->)", re.DOTALL)
_RULE = re.compile(r"^(?:\| |(?:\* )?\*\*)([A-Z0-9]+)-[A-Z]?\d{1,2}(?: \||\.\*\*)", re.MULTILINE)
_OPEN = "**open**"
"""Status of a field without any record."""
_HEADINGS = {"coverage": "| block | cycles | lines |", "upsets": "| block | bits of state | flipped | no effect |"}
"""First line of the tables of ``docs/evidence.md``, by field."""


def _text(page: str) -> str:
    return (_DOCS / page).read_text(encoding="utf-8")


def _rows(text: str) -> list[list[str]]:
    """Return the cells of all table rows."""
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:2] == "| "]


def _rows_below(heading: str, text: str, block: str) -> list[list[str]]:
    """Return the rows of a block in the table with a heading."""
    table = text[text.index(heading) :].partition("\n\n")[0]
    return [row for row in _rows(table) if row[0].split(",")[0].strip() == f"`{block}`"]


def _catalogue(block: str) -> list[list[str]]:
    return _rows_below("| block | instance | contract |", _text("catalogue.md"), block)


def _contract(block: Block) -> str:
    pages = list(dict.fromkeys(re.findall(r"\((\w+\.md)", " ".join(row[2] for row in _catalogue(block.name)))))
    prefixes = {row[3].rstrip("-") for row in _catalogue(block.name)}
    found = [rule for page in pages for rule in _RULE.findall(_text(page)) if rule in prefixes]
    links = ", ".join(f"[{Path(page).stem}]({page})" for page in pages)
    return f"{links}: {len(found)} rules" if found else f"{links}: rules of another page"


def _forms(block: Block) -> str:
    return ", ".join(f"`{form}`" for form in getattr(block.component, "forms", ())) or "a single form"


def _values(block: Block) -> str:
    values = values_of(block.shape)
    count = sum(map(len, values.values()))
    if not values:
        return f"{len(block.defaults())} numbers, no choices"
    return f"{count} values of {len(values)} choices and flags, each in a lockstep; {len(block.defaults())} parameters"


def _crosses(block: Block) -> str:
    parameters = {**block.defaults(), **block.mutated}
    return f"{len(crosses(block.name).crosses(parameters))} that the instance of the mutants must reach"


def _proofs(block: Block) -> str:
    place = re.compile(rf"<!-- proven: {block.name} -->\n(.*?)<!-- /proven -->", re.DOTALL)
    (text,) = (found for page in sorted(_DOCS.glob("*.md")) for found in place.findall(page.read_text("utf-8")))
    instances, properties = text.split("| property |")
    methods = [row[-1] for row in _rows(instances)[2:]]
    induction = sum(method.startswith("induction") for method in methods)
    bounded = f", {len(methods) - induction} bounded" if induction < len(methods) else ""
    return f"{len(_rows(properties)) - 1} properties, {induction} instances by induction{bounded}"


def _stuck(block: Block) -> str:
    faults = tomllib.loads(_STUCK.read_text(encoding="utf-8"))["fault"]
    own = [each for each in faults if each["block"] == block.name]
    return f"{len(own)} faults judged by hand"


def _plants(block: Block) -> str:
    names = {each.name for each in plants(block.name)}
    rows = [row for row in _rows(_text("plants.md")) if row[0] == f"`{block.name}`"]
    missing = sorted(names ^ {row[1] for row in rows})
    if missing:
        return f"{_OPEN}: no current record of {', '.join(missing)}"[:140]
    proven, seen = (sum(row[column] != "not noticed" for row in rows) for column in (3, 4))
    return f"{len(rows)}: {proven} noticed by a proof, {seen} by the lockstep"


def _mutants(block: Block) -> str:
    found = [row[-1] for row in _catalogue(block.name)]
    return "; ".join(_OPEN if each == "not measured" else each for each in found)


def _coverage(block: Block) -> str:
    rows = _rows_below(_HEADINGS["coverage"], _text("evidence.md"), block.name)
    if not rows:
        return _OPEN
    lines, branches, edges, reached, constant, judged = rows[0][2:]
    return f"lines {lines}, branches {branches}, edges {reached} of {edges}, {constant} constant, {judged} judged"


def _upsets(block: Block) -> str:
    rows = _rows_below(_HEADINGS["upsets"], _text("evidence.md"), block.name)
    return f"{rows[0][2]} of {rows[0][1]} bits flipped, {rows[0][3]} without effect" if rows else _OPEN


def _soak(block: Block) -> str:
    records = [json.loads(line) for line in _text("evidence/soak.jsonl").splitlines()]
    own = [each for each in records if each["block"] == block.name]
    if not own:
        return f"random instances of `make nightly`; {_OPEN}: no recorded soak"
    return f"{sum(each['cycles'] for each in own):,} cycles, {len(own)} instances, last {max(e['day'] for e in own)}"


def _export(block: Block) -> str:
    found: Mapping[str, Any] | None = json.loads(_text("evidence/export.json")).get(block.name)
    if found is None:
        return _OPEN
    tools = {"icarus": "Icarus", "verilator_debian": "Verilator of Debian", "yosys_debian": "yosys of Debian"}
    passed = [name for key, name in tools.items() if found.get(key) == "pass"]
    proof = found.get("proof") or {}
    equal = ", proven equal" if proof and not proof.get("unproven") else ""
    return f"{', '.join(passed) or _OPEN}{equal}"


def _area(block: Block) -> str:
    return "; ".join(_OPEN if row[5] == "not measured" else row[5] for row in _catalogue(block.name))


_FIELDS = {
    "contract": _contract,
    "forms": _forms,
    "parameter values": _values,
    "crosses": _crosses,
    "proofs": _proofs,
    "stuck-at faults": _stuck,
    "planted bugs": _plants,
    "mutants killed": _mutants,
    "code coverage": _coverage,
    "upsets": _upsets,
    "soak": _soak,
    "exported text": _export,
    "LUT4 / FF / LUT RAM": _area,
}
"""Fields of a checklist, in the order of the page."""


def checklist_of(block: Block) -> str:
    """Return the checklist of a block as a section of Markdown."""
    lines = [f"### {block.name}", "", "| field | state |", "|---|---|"]
    lines += [f"| {name} | {field(block)} |" for name, field in _FIELDS.items()]
    return "\n".join([*lines, ""])


def is_behind(*, update: bool) -> bool:
    """Return whether the page differs from the data. With ``update`` the page is written."""
    text = _PAGE.read_text(encoding="utf-8")
    lists = "\n" + "\n".join(map(checklist_of, BLOCKS.values())) + "\n"
    made = _LISTS.sub(lambda _: lists, text)
    if update and made != text:
        _PAGE.write_text(made, encoding="utf-8")
    return made != text


def _main() -> int:
    parser = argparse.ArgumentParser(description="Write the sign-off checklist of every block.")
    parser.add_argument("--check", action="store_true", help="change nothing, fail if the page is out of date")
    check = parser.parse_args().check
    behind = is_behind(update=not check)
    if behind:
        sys.stdout.write(f"docs/checklist.md: {'out of date' if check else 'written'}\n")
    return 1 if check and behind else 0


if __name__ == "__main__":
    sys.exit(_main())
