"""Layers: paths separated by VL against credit loops stay separate under VOQsw (``docs/voqsw.md``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError
from vlane.planning.voqsw_checks import lanes_of_hops
from vlane.planning.voqsw_paths import Ints, Paths

__all__ = ["Layers", "kept_layers", "one_layer"]


@dataclass(frozen=True)
class Layers:
    """Separation of paths: a layer for each previous SL, and a group of VLs for each previous VL.

    Parameters
    ----------
    path : array of int64, (paths)
        Layer of each path, from 0.
    sls : tuple of int
        Previous SL of each layer.
    groups : int
        Number of groups of VLs.
    group : array of int64, (switches, inputs, outputs, layers)
        Group of each layer's VL, by switch, input and output.
    """

    path: Ints
    sls: tuple[int, ...]
    groups: int
    group: Ints

    def levels_of_each(self, levels: int) -> int:
        """Return the number of service levels of each layer.

        Raises
        ------
        InputError
            If there are fewer levels than layers.
        """
        if levels < len(self.sls):
            raise InputError(
                "--sls", f"at least {len(self.sls)}, the number of layers that prevent credit loops", levels
            )
        return levels // len(self.sls)

    def lanes_of_each(self, vls: tuple[int, ...]) -> Ints:
        """Return the VLs of each group, (groups, VLs).

        Raises
        ------
        InputError
            If there are fewer VLs than groups.
        """
        size = len(vls) // self.groups
        if not size:
            raise InputError("--vls", f"at least {self.groups}, the number of VLs that prevent credit loops", len(vls))
        return np.array(vls[: size * self.groups], np.int64).reshape(self.groups, size)

    def group_of_hops(self, paths: Paths) -> Ints:
        """Return the group of each hop's output."""
        groups: Ints = self.group.reshape(-1, len(self.sls))[paths.row, self.path[paths.path]]
        return groups


def one_layer(paths: Paths) -> Layers:
    """Return all paths as one layer, with all VLs."""
    cabled = paths.cabled
    group = np.zeros((cabled.switches, cabled.ports, cabled.ports, 1), np.int64)
    return Layers(np.zeros(len(paths.source), np.int64), (0,), 1, group)


def kept_layers(paths: Paths, vl: NDArray[np.uint8], path_sl: Ints) -> Layers:
    """Return a layer for every SL of the paths, and a group for every VL in use between switches.

    Each group replaces one VL, so its packets wait for the groups of the same VLs as before. The new tables have a
    credit loop only if the previous tables had a credit loop.

    Parameters
    ----------
    paths : Paths
        All paths.
    vl : array of uint8, (switches, inputs, outputs, 16)
        Current tables.
    path_sl : array of int64, (paths)
        Current SL of each path.
    """
    sls, path = np.unique(path_sl, return_inverse=True)
    lanes = np.unique(lanes_of_hops(paths, vl, path_sl)[~paths.last])
    group_of = np.zeros(256, np.int64)
    group_of[lanes] = np.arange(len(lanes))
    return Layers(path, tuple(sls.tolist()), len(lanes), group_of[vl[..., sls]])
