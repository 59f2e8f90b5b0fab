"""Many instances measured: parameters swept, ratios to the first block, a picture."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from vlane.sim_top.area import Area
from vlane.sim_top.blocks import Block, find_block

from vlane.errors import InputError
from vlane.files import usable_folder

__all__ = ["Instance", "Measured", "check_plot", "instances_of", "ratios", "write_plot"]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933")
"""Told apart by people who see few colours (Okabe and Ito)."""
_MARKS = ("o", "s", "^", "v", "D", "P", "X", "*")


@dataclass(frozen=True, slots=True)
class Instance:
    """What is to be measured.

    Parameters
    ----------
    asked : str
        The block as it was asked for, its own parameters behind a colon.
    block : Block
        The block.
    parameters : dict
        Of the instance.
    swept : dict of str to str
        Values of the swept parameters that the block has.
    """

    asked: str
    block: Block
    parameters: dict[str, Any]
    swept: dict[str, str]


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured.

    Parameters
    ----------
    instance : Instance
        Of what.
    area : Area
        Cells, gates and speed.
    rate : float or None
        Decisions a cycle.
    """

    instance: Instance
    area: Area
    rate: float | None


def instances_of(asked: Sequence[str], param: Sequence[str], sweep: Sequence[str]) -> list[Instance]:
    """Return the instances of blocks: ``BLOCK`` or ``BLOCK:K=V,K=V``, each with every combination of the sweeps.

    Parameters
    ----------
    asked, param, sweep : sequence of str
        Blocks; ``K=V`` for all of them; ``K=V,V``. A block for which none are given has those of ``Block.synthesised``.

    Raises
    ------
    InputError
        If a word is not of its form, or a block refuses a parameter. Of a sweep a block may lack the parameter.
    """
    sweeps = dict(_values(word) for word in sweep)
    found: list[Instance] = []
    for word in asked:
        name, _, own = word.partition(":")
        block = find_block(name)
        given = [*param, *(part for part in own.split(",") if part)]
        axes = {key: values for key, values in sweeps.items() if key in block.defaults()}
        for chosen in itertools.product(*axes.values()):
            swept = dict(zip(axes, chosen, strict=True))
            words = [*given, *(f"{key}={value}" for key, value in swept.items())]
            found += [
                Instance(word, block, block.parameters(words, shape), swept)
                for shape in (({},) if words else block.synthesised or ({},))
            ]
    for key in sweeps:
        if not any(key in instance.swept for instance in found):
            raise InputError("--sweep", "K=V,V with K a parameter of one of the blocks", key)
    return found


def _values(word: str) -> tuple[str, list[str]]:
    name, equals, values = word.partition("=")
    listed = [value for value in values.split(",") if value]
    if not equals or not listed:
        raise InputError("--sweep", "K=V,V", word)
    return name, listed


def ratios(measured: Sequence[Measured]) -> list[tuple[float | None, float | None]]:
    """Return (area, area without flip-flops) of each over those of the first block at the same swept values."""
    first = [each for each in measured if each.instance.asked == measured[0].instance.asked]
    found = []
    for each in measured:
        swept = each.instance.swept
        base = next((f for f in first if all(swept.get(key, v) == v for key, v in f.instance.swept.items())), None)
        found.append(_over(each.area, base.area) if base else (None, None))
    return found


def _over(area: Area, base: Area) -> tuple[float | None, float | None]:
    if area.ge is not None and area.ge_storage is not None and base.ge is not None and base.ge_storage is not None:
        return round(area.ge / base.ge, 2), round((area.ge - area.ge_storage) / (base.ge - base.ge_storage), 2)
    if area.lut is not None and base.lut is not None:
        return None, round(area.lut / base.lut, 2)
    return None, None


def check_plot(instances: Sequence[Instance], file: Path) -> None:
    """Raise ``InputError`` unless a picture of the instances can be drawn and written."""
    if _axis(instances) is None:
        raise InputError("--plot", "given with a --sweep over numbers", str(file))
    usable_folder(file.parent, option="--plot")
    if file.is_dir():
        raise InputError("--plot", "a file", str(file))


def _axis(instances: Sequence[Instance]) -> str | None:
    """Return the first parameter that is swept by numbers."""
    return next((key for each in instances for key, value in each.swept.items() if value.isdigit()), None)


def write_plot(measured: Sequence[Measured], file: Path, *, target: str) -> None:
    """Write a picture (PNG): area over the first swept parameter, a curve for each block and other swept value."""
    axis = _axis([each.instance for each in measured])
    curves: dict[str, list[tuple[int, float]]] = {}
    for each in measured:
        swept = each.instance.swept
        others = [f"{key} {value}" for key, value in swept.items() if key != axis]
        value = each.area.ge if each.area.ge is not None else each.area.lut
        if axis is not None and axis in swept and value is not None:
            curves.setdefault(", ".join([each.instance.asked, *others]), []).append((int(swept[axis]), value))
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for number, (label, points) in enumerate(curves.items()):
        axes.plot(
            *zip(*sorted(points), strict=True), label=label, linewidth=1.4, markersize=5,
            marker=_MARKS[number % len(_MARKS)], color=_COLOURS[number % len(_COLOURS)],
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = sorted({at for points in curves.values() for at, _ in points})
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xlabel(str(axis))
    axes.set_ylabel("gate equivalents" if target == "gates" else f"LUTs ({target})")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(frameon=False, fontsize="small")
    FigureCanvasAgg(figure).print_png(str(file))  # type: ignore[no-untyped-call]
