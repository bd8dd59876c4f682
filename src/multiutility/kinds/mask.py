"""Masks: every pixel has its label, or is void."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.annotations import Full
from multiutility.arrays import FloatArray, IndexArray
from multiutility.kinds.drawing import Sketch
from multiutility.kinds.grid import Grid
from multiutility.kinds.kind import IndexImages, Kind, Page, Seconds, Words
from multiutility.kinds.problems import Problem, raise_problem, size_problem

FOLDER = "masks"


def mask_problem(mask: NDArray[Any], n_classes: int) -> Problem | None:
    """Return which index of a mask is beyond the classes."""
    if mask.size and mask.max() > n_classes:
        return f"has the index {mask.max()}: there are {n_classes} classes", "use 0 for void, 1 for the first"
    return None


def label_histograms(mask: NDArray[np.uint8], regions: IndexArray, n_labels: int) -> FloatArray:
    """Pixels of each label in each superpixel [V, K]; the mask [H, W] holds label + 1, and 0 for void.

    >>> mask = np.array([[1, 2, 0]], dtype=np.uint8)
    >>> label_histograms(mask, np.array([[0, 0, 1]], dtype=np.int32), n_labels=2)
    array([[1., 1.],
           [0., 0.]])
    """
    values = np.asarray(mask, dtype=np.uint8)
    height, width = regions.shape
    raise_problem("mask", size_problem(values, height, width) or mask_problem(values, n_labels))
    n_nodes, n_values = int(regions.max()) + 1, n_labels + 1
    cells = regions.ravel().astype(np.int64) * n_values + values.ravel()
    counts = np.bincount(cells, minlength=n_nodes * n_values).reshape(n_nodes, n_values)
    return counts[:, 1:].astype(np.float64)


def whole(mask: NDArray[np.uint8], grid: Grid) -> Full | None:
    """All that there is to know, unless all of the mask is void."""
    return Full(label_histograms(mask, grid.regions, grid.n_labels) * grid.cell) if np.any(mask) else None


MASK = Kind(
    "mask",
    Words("mask", "masks", "Masks", "Every pixel has its label.", "masks"),
    Page("mask", "With a mask", "mask", "masks"),
    Seconds(each=240.0, image=239.7),  # Bearman, Russakovsky, Ferrari and Fei-Fei (2016)
    level=2,
    mended=1.0,
    draw=Sketch.cover,
    whole=whole,
    images=IndexImages(FOLDER, mask_problem),
)
