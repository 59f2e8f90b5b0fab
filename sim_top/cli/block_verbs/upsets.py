"""``vlane upsets``: bit flips in a block's state in the middle of a run."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from vlane.sim_top.blocks import find_block
from vlane.sim_top.cli.block_verbs.block_options import BlockName
from vlane.sim_top.cli.options import AsJson, Params, Seed
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.cosim import upsets as flips
from vlane.sim_top.cosim.upsets import Effect
from vlane.sim_top.output.console import emit_json, screen, table

app = App()


@app.command(epilog="Example: vlane upsets vlarb")
def upsets(
    block: BlockName,
    count: Annotated[int, typer.Option(min=1, max=1_000_000, help="Number of flipped bits.")] = 10_000,
    param: Params = None,
    as_json: AsJson = False,  # noqa: FBT002
    seed: Seed = 1,
) -> None:
    """Flip bits of the block's state, one per run, and classify the effect on its outputs.

    From the upset on, no table is written and no reset is applied; the other inputs continue unchanged.
    """
    found = find_block(block)
    run = flips.upsets(found, found.parameters(param or [], found.mutated), count=count, seed=seed)
    if as_json:
        emit_json(
            {
                "block": block,
                "parameters": dict(run.parameters),
                "seed": seed,
                "upsets": count,
                "state_bits": run.state_bits,
                "flipped_bits": run.flipped_bits,
                "watched_cycles": flips.WATCHED,
                "effects": _document(run.total),
                "registers": [
                    {"register": register, **_document(effects)} for register, effects in sorted(run.effects.items())
                ],
            }
        )
        return
    columns = ["register", ">upsets", *(f">{effect}" for effect in Effect)]
    lasting = sorted(run.effects.items(), key=lambda each: -_lasting(each[1]))
    rows = [_row(register, effects) for register, effects in (("all", run.total), *lasting)]
    title = f"{block}: {run.flipped_bits:,} of {run.state_bits:,} state bits flipped"
    title += f", {flips.WATCHED:,} cycles observed after each"
    screen.print(table(title, columns, rows))


def _lasting(effects: Counter[Effect]) -> int:
    return effects[Effect.STUCK] + effects[Effect.DIFFERENT]


def _document(effects: Counter[Effect]) -> dict[str, int]:
    return {effect.name.lower(): effects[effect] for effect in Effect}


def _row(register: str, effects: Counter[Effect]) -> list[str]:
    return [register, f"{effects.total():,}", *(f"{effects[effect]:,}" for effect in Effect)]
