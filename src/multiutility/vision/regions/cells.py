"""Cells of a grid over an image, and what they add to its regions."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from multiutility import _core
from multiutility.arrays import IndexArray
from multiutility.vision.regions.borders import checked_regions


def cell_weights(regions: IndexArray, grid: tuple[int, int]) -> csr_array:
    """How much each cell of a grid (h, w) over the image adds to the sum over each region, [V, h * w].

    Each pixel takes its value from the four cells around it. Rows add up to the sizes of the regions.
    """
    labels, n_regions = checked_regions(regions)
    (height, width), (rows, columns) = labels.shape, grid
    lines = (*nearest_two(height, rows), *nearest_two(width, columns))
    found = _core.cell_weights(labels, n_regions, *lines, rows, columns)
    return csr_array(found, shape=(n_regions, rows * columns))


@lru_cache(maxsize=64)  # images of a set often have the same size
def nearest_two(n_pixels: int, n_cells: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The two cells of a line that each pixel takes its value from, and their weights: [n_pixels, 2] each.

    A cell's value is that of its center; values are linear in between, and constant beyond the outermost.

    >>> cells, weights = nearest_two(4, 2)
    >>> cells.tolist()
    [[0, 1], [0, 1], [0, 1], [1, 1]]
    >>> weights.tolist()
    [[1.0, 0.0], [0.75, 0.25], [0.25, 0.75], [1.0, 0.0]]
    """
    place = np.clip((np.arange(n_pixels) + 0.5) * n_cells / n_pixels - 0.5, 0, n_cells - 1)
    before = place.astype(np.int32)
    weight = (place - before).astype(np.float32)
    cells = np.stack((before, np.minimum(before + 1, n_cells - 1)), axis=1)
    weights = np.stack((1 - weight, weight), axis=1)
    for shared in (cells, weights):
        shared.setflags(write=False)
    return cells, weights
