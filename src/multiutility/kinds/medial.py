"""Strokes within segments, as a person draws them: through the middle, not along the border."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import BoolArray

# A path is found among at most about this many blocks of pixels.
N_BLOCKS = 1500
# The ends of a path are near the border: this much of it is left out at each.
ENDS = 0.15


def medial_path(pixels: BoolArray) -> NDArray[np.intp]:
    """Rows and columns [P, 2] of a path from one end of a segment [H, W] to the other, through its middle.

    Each pixel is in the segment, and beside the one before it. Of a segment of several parts, the path is in
    the largest.

    >>> medial_path(np.ones((1, 8), dtype=np.bool_)).tolist()
    [[0, 6], [0, 5], [0, 4], [0, 3], [0, 2], [0, 1]]
    """
    side = block_side(pixels)
    blocks = whole_blocks(pixels, side)
    places = side * path_of(blocks) + side // 2
    steps = [places[:1]]
    for first, last in pairwise(places):
        steps.append(first + np.outer(np.arange(1, side + 1), np.sign(last - first)))
    path = np.concatenate(steps)
    cut = int(ENDS * len(path))
    return np.asarray(path[cut : len(path) - cut])


def thickened(path: NDArray[np.intp], pixels: BoolArray, n_pixels: int) -> BoolArray:
    """As many pixels of a segment [H, W], bool: those nearest to a path, or the middle of a longer path.

    Of equals, those nearest to the middle of the path come first.

    >>> thickened(np.array([[1, 1], [1, 2], [1, 3]]), np.ones((3, 5), dtype=np.bool_), 5).astype(int)
    array([[0, 0, 1, 0, 0],
           [0, 1, 1, 1, 0],
           [0, 0, 1, 0, 0]])
    """
    # Who only reads datasets need not wait for it.
    from scipy import ndimage  # noqa: PLC0415

    stroke = np.zeros(pixels.shape, dtype=np.bool_)
    if n_pixels <= len(path):
        begin = (len(path) - n_pixels) // 2
        stroke[tuple(path[begin : begin + n_pixels].T)] = True
        return stroke
    away = np.ones(pixels.shape, dtype=np.bool_)
    away[tuple(path.T)] = False
    places = np.argwhere(pixels)
    to_middle = np.square(places - path[len(path) // 2]).sum(axis=1)
    order = np.lexsort((to_middle, ndimage.distance_transform_edt(away)[pixels]))
    stroke[tuple(places[order[:n_pixels]].T)] = True
    return stroke


def block_side(pixels: BoolArray) -> int:
    """Side of square blocks so that there are not too many, and most of the segment is in whole ones."""
    n_pixels = np.count_nonzero(pixels)
    side = 1
    while n_pixels > N_BLOCKS * side**2:
        if 2 * np.count_nonzero(whole_blocks(pixels, 2 * side)) * (2 * side) ** 2 < n_pixels:
            break
        side *= 2
    return side


def whole_blocks(pixels: BoolArray, side: int) -> BoolArray:
    """Blocks of pixels that are all of the segment, bool [H // side, W // side]."""
    height, width = (length // side for length in pixels.shape)
    blocks = pixels[: height * side, : width * side].reshape(height, side, width, side)
    return np.asarray(blocks.all(axis=(1, 3)))


def path_of(blocks: BoolArray) -> NDArray[np.intp]:
    """Rows and columns [P, 2] of a path in the largest part of some blocks: far from outside, and long."""
    from scipy import ndimage  # noqa: PLC0415
    from scipy.sparse import coo_array  # noqa: PLC0415
    from scipy.sparse.csgraph import dijkstra  # noqa: PLC0415

    parts, _ = ndimage.label(blocks)
    largest = parts == np.bincount(parts[blocks]).argmax()
    numbers = np.cumsum(largest).reshape(largest.shape) - 1
    inner = ndimage.distance_transform_edt(np.pad(largest, 1))[1:-1, 1:-1]
    pairs, costs = [], []
    for a, b in ((np.s_[:-1], np.s_[1:]), (np.s_[:, :-1], np.s_[:, 1:])):
        both = largest[a] & largest[b]
        pairs.append((numbers[a][both], numbers[b][both]))
        # The square keeps even short paths off the border.
        costs.append((1 / inner[a][both] + 1 / inner[b][both]) ** 2)
    first, second = np.concatenate(pairs, axis=1)
    shape = (np.count_nonzero(largest),) * 2
    graph = coo_array((np.concatenate(costs), (first, second)), shape=shape).tocsr()
    start = int(np.argmax(inner[largest]))
    for _ in range(2):  # The farthest from anywhere is an end, and the farthest from that the other.
        steps = dijkstra(graph, directed=False, indices=start, unweighted=True)
        start, end = int(np.argmax(steps)), start
    _, before = dijkstra(graph, directed=False, indices=start, return_predecessors=True)
    path = [end]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
    return np.argwhere(largest)[path]
