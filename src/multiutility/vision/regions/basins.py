"""Basins of a map: what drains to the same minimum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from skimage.measure import label
from skimage.segmentation import watershed

from multiutility.vision.regions.boundary import FloatMap


def basins(surface: FloatMap) -> NDArray[Any]:
    """Return the basins of all local minima, by 4-neighbors: integers [H, W], in any order.

    They are those of ``skimage.segmentation.watershed``, which floods from all minima at once. Pixels are
    flooded by rising value, and each by the first of its neighbors that was: so by the lowest one. Without a
    queue, that is all that has to be found. Where neighbors are equally low and of different basins, or equal
    to the pixel above the bottom, the order in the queue decides, and the queue is used.

    >>> basins(np.array([[1, 2, 5, 3, 0]], dtype=np.float32)).tolist()
    [[0, 0, 0, 4, 4]]
    """
    found = drained(surface)
    return np.asarray(watershed(surface, connectivity=1)) if found is None else found


def drained(surface: FloatMap) -> NDArray[np.int32] | None:
    """Return the flat index of the minimum that each pixel drains to; None if that depends on a queue."""
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
