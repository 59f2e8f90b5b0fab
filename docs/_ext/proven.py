"""Write the tables of what is proven, and of what notices planted bugs, into the pages.

    python docs/_ext/proven.py [--check] [--plants FILE.json]

What is proven stands between ``<!-- proven: BLOCK -->`` and ``<!-- /proven -->`` and is made from the properties in
``tb/FAMILY/BLOCK/proofs.py``; ``--check`` changes nothing and fails if a page is behind. ``--plants`` writes what
``vlane plants --json`` printed into ``docs/plants.md``, between ``<!-- plants -->`` and ``<!-- /plants -->``; rows of
other blocks stay, if the blocks are still there.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from amaranth.hdl import Fragment

from vlane.sim_top.blocks import BLOCKS, Block

__all__ = ["pages_behind", "table_of", "write_plants"]

_DOCS = Path(__file__).resolve().parent.parent
_PLACE = re.compile(r"(?<=<!-- proven: )(\w+)( -->\n).*?(?=<!-- /proven -->)", re.DOTALL)
_PLANTS = re.compile(r"(?<=<!-- plants -->\n).*?(?=<!-- /plants -->)", re.DOTALL)


def table_of(block: Block) -> str:
    """Return the instances of a block that are proven, and its properties, as two tables in Markdown.

    Raises
    ------
    ValueError
        If two instances call different properties the same.
    """
    statements: dict[str, str] = {}
    where: dict[str, list[str]] = {}
    lines = ["", "| instance | of | method |", "|---|---|---|"]
    for instance in block.proofs:
        properties = instance.make(block.make)
        Fragment.get(properties, None)
        for name in properties.claim.count:
            statement = properties.statements[name]
            if statements.setdefault(name, statement) != statement:
                raise ValueError(f"{block.name}: two properties are called {name}")
            where.setdefault(name, []).append(instance.name)
        shown = ", ".join(f"`{key}` {value}" for key, value in instance.parameters.items())
        part = f"{instance.part.__name__}: " if instance.part else ""
        lines.append(f"| {instance.name} | {part}{shown} | {properties.method} |")
    lines += ["", "| property | statement | instances |", "|---|---|---|"]
    every = [each.name for each in block.proofs]
    for name, statement in statements.items():
        lines.append(f"| {name} | {statement} | {'all' if where[name] == every else ', '.join(where[name])} |")
    return "\n".join([*lines, "", ""])


def pages_behind(*, update: bool) -> list[Path]:
    """Return the pages whose tables are not what the code proves. With ``update`` they are written anew."""
    behind = []
    for page in sorted(_DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        made = _PLACE.sub(lambda found: f"{found[1]}{found[2]}{table_of(BLOCKS[found[1]])}", text)
        if made != text:
            behind.append(page)
            if update:
                page.write_text(made, encoding="utf-8")
    return behind


def write_plants(result: Path) -> None:
    """Write what noticed the planted bugs of some blocks, or of all, into their page."""
    page = _DOCS / "plants.md"
    text = page.read_text(encoding="utf-8")
    rows: dict[str, list[str]] = {block: [] for block in BLOCKS}
    for line in re.findall(r"^\| `.*$", _PLANTS.findall(text)[0], re.MULTILINE):
        rows.get(line.split("`")[1], []).append(line)
    plants = json.loads(result.read_text(encoding="utf-8"))["plants"]
    rows |= {each["block"]: [] for each in plants}
    for each in plants:
        proof, cycle = each["proof"], each["lockstep"]["cycle"]
        proven = f"{proof['failed'] or proof['verdict']} ({proof['instance']})" if proof["noticed"] else "not noticed"
        seen = "not noticed" if cycle is None else f"cycle {cycle}"
        rows[each["block"]].append(f"| `{each['block']}` | {each['name']} | {each['statement']} | {proven} | {seen} |")
    head = ["", "| block | bug | what it does | proof | lockstep |", "|---|---|---|---|---|"]
    table = "\n".join([*head, *(line for lines in rows.values() for line in lines), "", ""])
    page.write_text(_PLANTS.sub(lambda _: table, text), encoding="utf-8")


def _main() -> int:
    parser = argparse.ArgumentParser(description="Write the tables of what is proven into the pages.")
    parser.add_argument("--check", action="store_true", help="change nothing, fail if a page is behind")
    parser.add_argument("--plants", type=Path, help="what `vlane plants --json` printed")
    given = parser.parse_args()
    check = given.check
    if given.plants:
        write_plants(given.plants)
    behind = pages_behind(update=not check)
    for page in behind:
        sys.stdout.write(f"{page.relative_to(_DOCS.parent)}: {'behind' if check else 'written'}\n")
    return 1 if check and behind else 0


if __name__ == "__main__":
    sys.exit(_main())
