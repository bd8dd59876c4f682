"""The native routines for regions in plain NumPy: readable twins, which tests compare them with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from skimage.measure import label

from multiutility.arrays import IndexArray
from multiutility.vision.regions.borders import Borders
from multiutility.vision.regions.boundary import FloatMap
from multiutility.vision.regions.cells import nearest_two


def drained(surface: FloatMap) -> NDArray[np.int32] | None:
    """As ``basins.drained``."""
    height, width = surface.shape
    padded = np.full((height + 2, width + 2), np.inf, dtype=surface.dtype)
    padded[1:-1, 1:-1] = surface
    around = padded[:-2, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:], padded[2:, 1:-1]
    steps = -width, -1, 1, width
    low = np.minimum(np.minimum(around[0], around[1]), np.minimum(around[2], around[3]))
    lowest = [values == low for values in around]
    falls = low < surface
    towards = np.arange(surface.size, dtype=np.int32).reshape(height, width)
    undecided = falls
    for one, offset in zip(lowest, steps, strict=True):
        towards += np.int32(offset) * (one & undecided)
        undecided = undecided & ~one
    parent = towards.ravel()
    bottom = surface == surface.min()
    if ((low == surface) & ~bottom).any():
        return None
    # Of a bottom that is flat, all pixels drain to one of them.
    places = np.flatnonzero(bottom)
    groups = label(bottom, connectivity=1).ravel()[places]
    _, first = np.unique(groups, return_index=True)
    parent[places] = places[first][groups - 1]
    while True:
        further = parent[parent]
        if np.array_equal(further, parent):
            break
        parent = further
    tied = np.flatnonzero(falls & (np.add.reduce([one.view(np.uint8) for one in lowest]) > 1))
    for one, offset in zip(lowest, steps, strict=True):
        there = tied[one.ravel()[tied]]
        if (parent[there + offset] != parent[there]).any():
            return None
    return parent.reshape(height, width)


def borders(regions: NDArray[Any]) -> Borders:
    """As ``borders.Borders.of``."""
    width = regions.shape[1]
    across = np.flatnonzero(regions[:, :-1] != regions[:, 1:])
    across += across // max(width - 1, 1)  # rows of pairs are one shorter than those of pixels
    down = np.flatnonzero(regions[:-1] != regions[1:])
    first, second = np.concatenate((across, down)), np.concatenate((across + 1, down + width))
    flat = regions.ravel()
    edges, owner = unique_pairs(flat[first], flat[second], int(flat.max(initial=0)) + 1)
    return Borders(edges, owner, first, second)


def border_lengths(regions: NDArray[Any]) -> tuple[IndexArray, NDArray[np.int64]]:
    """Return the edges and lengths of ``borders``, in less time."""
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


def connected(regions: NDArray[Any], min_size: int) -> IndexArray:
    """As ``merging.connected``."""
    parts = label(regions, background=-1, connectivity=1) - 1
    sizes = np.bincount(parts.ravel())
    names: IndexArray = np.arange(len(sizes), dtype=np.int32)
    if (sizes < min_size).any():
        edges, lengths = border_lengths(parts)
        while len(sizes) > 1 and (sizes < min_size).any():
            joins = np.flatnonzero(sizes < min_size)
            target = nearest(edges, -lengths.astype(np.float64), len(sizes))
            _, groups = joined(joins, target[joins], len(sizes))
            names, sizes = groups[names], np.bincount(groups, sizes).astype(np.int64)
            edges, lengths = grouped(edges, lengths, groups)
    return renumbered(names[parts])


def renumbered(regions: NDArray[Any]) -> IndexArray:
    """Regions with the labels 0..V-1 in the order of their first pixels."""
    flat = regions.ravel()
    first = np.full(int(flat.max(initial=-1)) + 1, flat.size)
    # The last of several values for one place stays: backwards, that is the first pixel's.
    first[flat[::-1]] = np.arange(flat.size - 1, -1, -1)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first), dtype=np.int32)
    return np.asarray(rank[regions], dtype=np.int32)


def nearest(edges: IndexArray, distances: NDArray[np.float64], n_regions: int) -> NDArray[np.int64]:
    """The neighbor of each region at the least distance, [V]; of equals, the first edge's; -1 for none."""
    least = np.full(n_regions, np.inf)
    for ends in edges.T:
        np.minimum.at(least, ends, distances)
    found, first = np.full(n_regions, -1, dtype=np.int64), np.full(n_regions, len(edges))
    for one, other in ((0, 1), (1, 0)):
        closest = np.flatnonzero(distances == least[edges[:, one]])[::-1]
        # The last of several values for one place stays: backwards, that is the first edge's.
        place = np.full(n_regions, len(edges))
        place[edges[closest, one]] = closest
        earlier = np.flatnonzero(place < first)
        first[earlier] = place[earlier]
        found[earlier] = edges[place[earlier], other]
    return found


def grouped(
    edges: IndexArray, lengths: NDArray[np.int64], groups: IndexArray
) -> tuple[IndexArray, NDArray[np.int64]]:
    """Edges between groups of regions, and the lengths of their borders."""
    ends = groups[edges]
    outer = ends[:, 0] != ends[:, 1]
    found, owner = unique_pairs(ends[outer, 0], ends[outer, 1], int(groups.max(initial=0)) + 1)
    return found, np.bincount(owner, lengths[outer], len(found)).astype(np.int64)


def joined(one: NDArray[Any], other: NDArray[Any], n_regions: int) -> tuple[int, IndexArray]:
    """Number of groups, and the group of each region, when the given pairs are joined."""
    links = coo_array((np.ones(len(one), dtype=np.bool_), (one, other)), shape=(n_regions, n_regions))
    n_groups, groups = connected_components(links, directed=False)
    return int(n_groups), groups


def merge_regions(
    regions: IndexArray, boundary: FloatMap, n_regions: int, size_power: float = 0.0
) -> IndexArray:
    """As ``merging.merge_regions``."""
    found = borders(regions)
    sizes = np.bincount(regions.ravel())
    graph = RegionGraph(sizes, found.edges, found.totals(boundary), found.lengths)
    n_basins = len(graph.sizes)
    n_merges = max(0, n_basins - n_regions)
    pairs, heights = merges(graph, n_merges, size_power)
    # Stable: of equally high merges, those that others build on come first.
    kept = np.argsort(heights, kind="stable")[:n_merges]
    _, groups = joined(pairs[kept, 0], pairs[kept, 1], n_basins)
    return renumbered(groups[regions])


@dataclass(frozen=True, eq=False)
class RegionGraph:
    """Regions that merge: sizes [V], edges [E, 2], sum of the map along each border and its length [E]."""

    sizes: NDArray[np.int64]
    edges: IndexArray
    totals: NDArray[np.float64]
    lengths: NDArray[np.int64]

    def strengths(self, size_power: float) -> NDArray[np.float64]:
        """Mean along each border, times the smaller region's size to the power, [E]."""
        one, other = self.sizes[self.edges.T]
        smaller = np.minimum(one, other).astype(np.float64)
        return np.asarray(self.totals / self.lengths * smaller**size_power)

    def merged(self, groups: IndexArray) -> RegionGraph:
        """Return the graph of the groups that each region is now in, [V]."""
        ends = groups[self.edges]
        outer = ends[:, 0] != ends[:, 1]
        sizes = np.bincount(groups, self.sizes).astype(np.int64)
        edges, owner = unique_pairs(ends[outer, 0], ends[outer, 1], len(sizes))
        totals = np.asarray(np.bincount(owner, self.totals[outer], len(edges)), dtype=np.float64)
        lengths = np.bincount(owner, self.lengths[outer], len(edges)).astype(np.int64)
        return RegionGraph(sizes, edges, totals, lengths)


def merges(
    graph: RegionGraph, n_merges: int, size_power: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The ``n_merges`` lowest merges of the hierarchy, and perhaps more: pairs [M, 2] and heights [M].

    A pair names one region of each of the two groups. A border's strength after a merge is never below both
    strengths that it came from. So merging all pairs at once that are each other's weakest neighbors gives
    the same hierarchy as always merging the weakest pair, and no later merge is below the weakest border.
    """
    names = np.arange(len(graph.sizes))
    pairs, heights = np.zeros((0, 2), dtype=np.int64), np.zeros(0)
    while len(graph.edges):
        strengths, edges = graph.strengths(size_power), graph.edges
        if (heights <= strengths.min()).sum() >= n_merges:
            break
        target = nearest(edges, strengths, len(names))
        mutual = (target[edges[:, 0]] == edges[:, 1]) & (target[edges[:, 1]] == edges[:, 0])
        pairs = np.concatenate((pairs, names[edges[mutual]]))
        heights = np.concatenate((heights, strengths[mutual]))
        kept, groups = paired(edges[mutual], len(names))
        names, graph = names[kept], graph.merged(groups)
    return pairs, heights


def paired(pairs: IndexArray, n_regions: int) -> tuple[NDArray[np.bool_], IndexArray]:
    """Which regions stay, bool [V], and the group of each, when the second of each pair joins the first."""
    kept = np.ones(n_regions, dtype=np.bool_)
    kept[pairs[:, 1]] = False
    groups = np.cumsum(kept, dtype=np.int32) - 1
    groups[pairs[:, 1]] = groups[pairs[:, 0]]
    return kept, groups


def cell_weights(regions: NDArray[Any], grid: tuple[int, int]) -> csr_array:
    """As ``cells.cell_weights``.

    Pixels side by side in a region with the same four cells are taken together: their weights add up to
    differences of running sums.
    """
    (height, width), (rows, columns) = regions.shape, grid
    down, down_weights = nearest_two(height, rows)
    across, across_weights = nearest_two(width, columns)
    ends = np.ones((height, width), dtype=np.bool_)
    ends[:, :-1] = (regions[:, 1:] != regions[:, :-1]) | (across[1:] != across[:-1]).any(axis=1)
    last = np.flatnonzero(ends)
    y, right = np.divmod(last, width)
    left = np.concatenate(([0], last[:-1] + 1)) - y * width
    sums = np.concatenate((np.zeros((1, 2)), np.cumsum(across_weights, axis=0, dtype=np.float64)))
    wide = sums[right + 1] - sums[left]
    cells = down[y][:, :, np.newaxis] * columns + across[right][:, np.newaxis]
    weights = down_weights[y][:, :, np.newaxis] * wide[:, np.newaxis]
    owners = np.repeat(regions.ravel()[last], 4)
    shape = int(regions.max()) + 1, rows * columns
    return csr_array(coo_array((weights.ravel(), (owners, cells.ravel())), shape=shape), dtype=np.float32)


def largest_change(across: FloatMap, down: FloatMap, factor: float) -> FloatMap:
    """As ``boundary.largest_change``."""
    across, down = (change * np.float32(factor) for change in (across, down))
    one, two = (np.einsum("nd,nd->n", change, change) for change in (across, down))
    both = np.einsum("nd,nd->n", across, down)
    return np.asarray(np.sqrt((one + two) / 2 + np.sqrt(((one - two) / 2) ** 2 + both**2)), dtype=np.float32)
