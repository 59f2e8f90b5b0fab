"""Area of many instances: swept parameters, ratios to the first block, plot."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlane.documents.files import usable_folder
from vlane.errors import InputError, unknown_word
from vlane.parameters import Parameters
from vlane.sim_top.blocks import Block, find_block
from vlane.sim_top.output.pictures import look, new_figure, write_png
from vlane.sim_top.silicon.area import Area


@dataclass(frozen=True, slots=True)
class Instance:
    """Instance to measure.

    Parameters
    ----------
    asked : str
        Block argument as given, including parameters after a colon.
    block : Block
        The block.
    parameters : Parameters
        Parameters of the instance.
    swept : tuple of str
        Swept parameters of the block, without those set by its argument.
    """

    asked: str
    block: Block
    parameters: Parameters
    swept: tuple[str, ...]

    @property
    def at(self) -> dict[str, Any]:
        """Values of the swept parameters."""
        return {key: self.parameters[key] for key in self.swept}


@dataclass(frozen=True, slots=True)
class Measured:
    """Measured instance.

    Parameters
    ----------
    instance : Instance
        Of what.
    area : Area or None
        Cells, gates and frequency; ``None`` if a tool failed.
    rate : float or None
        Decisions per cycle.
    """

    instance: Instance
    area: Area | None
    rate: float | None


def instances_of(asked: Sequence[str], param: Sequence[str], sweep: Sequence[str]) -> list[Instance]:
    """Return the instances of blocks given as ``BLOCK`` or ``BLOCK:K=V,K=V``, with every combination of the sweeps.

    Parameters
    ----------
    asked : sequence of str
        Block arguments. A block without any parameters gets the instances of ``Block.synthesised``.
    param : sequence of str
        ``K=V`` words for all blocks.
    sweep : sequence of str
        ``K=V,V`` words for all blocks.

    Raises
    ------
    InputError
        If a word is malformed, or a block rejects a parameter. Blocks may lack swept parameters.
    """
    sweeps: dict[str, list[str]] = {}
    fixed = {word.partition("=")[0] for word in param}
    for key, values in map(_values, sweep):
        if key in sweeps or key in fixed:
            raise InputError("--sweep", "given once per parameter", key, problem=f": parameter {key} is given twice")
        sweeps[key] = values
    found: list[Instance] = []
    for word in asked:
        name, colon, own = word.partition(":")
        block = find_block(name)
        if colon and not own:
            raise InputError("BLOCK", "NAME or NAME:K=V,K=V", word)
        mine = [part for part in own.split(",") if part]
        of_mine = {part.partition("=")[0] for part in mine}
        given = [*(part for part in param if part.partition("=")[0] not in of_mine), *mine]
        named = {part.partition("=")[0] for part in given}
        axes = {key: values for key, values in sweeps.items() if key in block.defaults() and key not in named}
        for chosen in itertools.product(*axes.values()):
            words = [*given, *(f"{key}={value}" for key, value in zip(axes, chosen, strict=True))]
            found += [
                Instance(word, block, block.parameters(words, shape), tuple(axes))
                for shape in (({},) if words else block.synthesised or ({},))
            ]
    for key in sweeps:
        if not any(key in instance.swept for instance in found):
            known = dict.fromkeys(name for instance in found for name in instance.parameters)
            raise unknown_word("--sweep", known, key)
    return found


def _values(word: str) -> tuple[str, list[str]]:
    name, equals, values = word.partition("=")
    listed = [value for value in values.split(",") if value]
    if not equals or not listed or len(set(listed)) < len(listed):
        raise InputError("--sweep", "K=V,V with distinct values", word)
    return name, listed


def ratios(measured: Sequence[Measured]) -> list[tuple[float | None, float | None]]:
    """Return ratios to the instance of the first block with the same swept values, or ``None`` unless it is unique.

    Ratios are of gate equivalents, in all and without flip-flops; or of LUTs, and ``None``.
    """
    first = [each for each in measured if each.instance.asked == measured[0].instance.asked]
    found = []
    for each in measured:
        at = each.instance.at
        bases = [one for one in first if all(at.get(key, value) == value for key, value in one.instance.at.items())]
        found.append(_over(each.area, bases[0].area if len(bases) == 1 else None))
    return found


def _over(area: Area | None, base: Area | None) -> tuple[float | None, float | None]:
    if area is None or base is None:
        return None, None
    if area.ge is not None and area.ge_storage is not None and base.ge and base.ge_storage is not None:
        logic = base.ge - base.ge_storage
        return round(area.ge / base.ge, 2), round((area.ge - area.ge_storage) / logic, 2) if logic else None
    own, other = _count(area), _count(base)
    return (round(own / other, 2) if own is not None and other else None), None


def _count(area: Area) -> int | None:
    """Return the LUTs, or the number of generic gates."""
    return sum(area.cells.values()) if area.lut is None and area.timing else area.lut


def check_plot(instances: Sequence[Instance], file: Path) -> None:
    """Raise ``InputError`` unless a plot of the instances can be drawn and written."""
    if _axis(instances) is None:
        raise InputError("--plot", "given with a numeric --sweep", str(file), problem="needs a --sweep over numbers")
    usable_folder(file.parent, option="--plot")
    if file.is_dir() or file.suffix != ".png":
        raise InputError("--plot", "a file name ending in .png", str(file))


def _axis(instances: Sequence[Instance]) -> str | None:
    """Return the first parameter swept over numbers."""
    return next((key for each in instances for key, value in each.at.items() if type(value) is int), None)


def write_plot(measured: Sequence[Measured], file: Path, *, target: str) -> None:
    """Write a plot (PNG) of area over the first numeric swept parameter, with a curve per combination of the others."""
    axis = _axis([each.instance for each in measured])
    curves: dict[str, list[tuple[int, float]]] = {}
    for each in measured:
        at = each.instance.at
        others = [f"{key} {value}" for key, value in at.items() if key != axis]
        value = None if each.area is None else _count(each.area) if each.area.ge is None else each.area.ge
        if axis in at and value is not None:
            curves.setdefault(", ".join([each.instance.asked, *others]), []).append((at[axis], value))
    figure = new_figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for number, (label, points) in enumerate(curves.items()):
        axes.plot(*zip(*sorted(points), strict=True), label=label, linewidth=1.4, markersize=5, **look(number))
    ticks = sorted({at for points in curves.values() for at, _ in points})
    if ticks and ticks[0] > 0:
        axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xlabel(str(axis))
    axes.set_ylabel({"gates": "gate equivalents", "generic": "generic cells"}.get(target, f"LUTs ({target})"))
    axes.grid(visible=True, which="major", alpha=0.3)
    if curves:
        axes.legend(frameon=False, fontsize="small")
    write_png(figure, file, option="--plot")
