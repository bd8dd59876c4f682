"""Borders between regions: which regions touch, and along which pixels.

Regions are int32 [H, W] with the labels 0..V-1, all used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        width = regions.shape[1]
        across = np.flatnonzero(regions[:, :-1] != regions[:, 1:])
        across += across // max(width - 1, 1)  # rows of pairs are one shorter than those of pixels
        down = np.flatnonzero(regions[:-1] != regions[1:])
        first, second = np.concatenate((across, down)), np.concatenate((across + 1, down + width))
        flat = regions.ravel()
        edges, owner = unique_pairs(flat[first], flat[second], int(flat.max(initial=0)) + 1)
        return cls(edges, owner, first, second)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of pixel pairs of each edge, [E]."""
        return np.bincount(self.owner, minlength=len(self.edges))

    def means(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Mean of a map [H, W] along each edge's border, [E]."""
        flat = values.ravel()
        pairs = (flat[self.first].astype(np.float64) + flat[self.second]) / 2
        return np.asarray(np.bincount(self.owner, pairs, len(self.edges)) / self.lengths)


def border_lengths(regions: NDArray[Any]) -> tuple[IndexArray, NDArray[np.int64]]:
    """Return the edges and lengths of ``Borders.of``, in less time.

    >>> border_lengths(np.array([[0, 0, 1], [2, 2, 1]]))[1].tolist()
    [1, 2, 1]
    """
    n_regions = int(regions.max(initial=0)) + 1
    keys = []
    for one, other in ((regions[:, :-1], regions[:, 1:]), (regions[:-1], regions[1:])):
        crossing = one != other
        keys.append(pair_keys(one[crossing], other[crossing], n_regions))
    unique, lengths = np.unique(np.concatenate(keys), return_counts=True)
    return pairs_of(unique, n_regions), lengths


def pair_keys(one: NDArray[Any], other: NDArray[Any], n_regions: int) -> NDArray[np.int64]:
    """Return one number for each pair, the same both ways."""
    return np.asarray(np.minimum(one, other).astype(np.int64) * n_regions + np.maximum(one, other))


def pairs_of(keys: NDArray[np.int64], n_regions: int) -> IndexArray:
    """Return the pairs (i < j) of numbers, int32 [E, 2]."""
    return np.stack(np.divmod(keys, n_regions), axis=1).astype(np.int32)


def unique_pairs(
    one: NDArray[Any], other: NDArray[Any], n_regions: int
) -> tuple[IndexArray, NDArray[np.int64]]:
    """Sorted unique pairs (i < j) int32 [E, 2], and the place of each given pair among them."""
    unique, owner = np.unique(pair_keys(one, other, n_regions), return_inverse=True)
    return pairs_of(unique, n_regions), owner


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
