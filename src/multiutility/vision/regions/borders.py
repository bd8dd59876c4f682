"""Borders between regions: which regions touch, and along which pixels.

Regions are int32 [H, W] with the labels 0..V-1, all used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility import _core
from multiutility.arrays import IndexArray
from multiutility.vision.regions.boundary import FloatMap


@dataclass(frozen=True, eq=False)
class Borders:
    """Pairs of pixels across the borders of regions, grouped by the edge that they belong to.

    ``edges`` int32 [E, 2] has i < j and is sorted; ``owner`` [P] is the edge of each pair, ``first`` and
    ``second`` [P] are its pixels, as indices into the flat image.
    """

    edges: IndexArray
    owner: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    @classmethod
    def of(cls, regions: NDArray[Any]) -> Borders:
        """Find all pairs of neighboring pixels (left and right, above and below) in different regions."""
        labels, n_regions = checked_regions(regions)
        edges, owner, pixels = _core.borders(labels, n_regions)
        first, second = pixels.astype(np.int64).reshape(-1, 2).T
        return cls(edges.reshape(-1, 2), owner.astype(np.int64), first, second)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of pixel pairs of each edge, [E]."""
        return np.bincount(self.owner, minlength=len(self.edges))

    def means(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Mean of a map [H, W] along each edge's border, [E]."""
        return self.totals(values) / self.lengths

    def totals(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Sum of a map [H, W] along each edge's border, over the means of pairs of pixels, [E]."""
        flat = values.ravel()
        pairs = (flat[self.first].astype(np.float64) + flat[self.second]) / 2
        return np.asarray(np.bincount(self.owner, pairs, len(self.edges)), dtype=np.float64)


def checked_regions(regions: NDArray[Any]) -> tuple[IndexArray, int]:
    """Return regions as native code takes them, and their number; it would read anywhere for other labels."""
    labels = np.ascontiguousarray(regions, dtype=np.int32)
    if labels.ndim != 2 or labels.size == 0 or labels.min() < 0:
        raise ValueError(f"regions have shape {labels.shape}: expected [H, W] with labels from 0 on")
    return labels, int(labels.max()) + 1


def adjacency(regions: NDArray[Any]) -> IndexArray:
    """Pairs of regions with a common border: int32 [E, 2], i < j, sorted, unique.

    >>> adjacency(np.array([[0, 0, 1], [2, 2, 1]])).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return Borders.of(regions).edges


def boundary_strength(regions: NDArray[Any], edges: IndexArray, boundary: FloatMap) -> NDArray[np.float64]:
    """Mean of the boundary map along the common border of each of the edges, [E].

    >>> regions, boundary = np.array([[0, 0, 1, 1]]), np.array([[0, 8, 4, 0]], dtype=np.float32)
    >>> boundary_strength(regions, np.array([[0, 1]], dtype=np.int32), boundary)
    array([6.])
    """
    borders = Borders.of(regions)
    n_regions = int(regions.max(initial=0)) + 1
    known, wanted = (pairs.astype(np.int64) @ [n_regions, 1] for pairs in (borders.edges, edges))
    places = np.searchsorted(known, wanted)
    missing = ~np.isin(wanted, known)
    if missing.any():
        e = int(np.argmax(missing))
        raise ValueError(f"edges[{e}] is {edges[e].tolist()}: these regions have no common border")
    return borders.means(boundary)[places]
