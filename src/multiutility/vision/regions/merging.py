"""Regions that join their neighbors: small ones, or the weakest borders first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility import _core
from multiutility.arrays import IndexArray
from multiutility.vision.regions.borders import checked_regions
from multiutility.vision.regions.boundary import FloatMap


def connected(regions: NDArray[Any], min_size: int) -> IndexArray:
    """Split regions into 4-connected parts, and join parts below ``min_size`` to their closest neighbor.

    The closest neighbor has the longest common border. Labels are renumbered in the order of first pixels.

    >>> connected(np.array([[3, 3, 5, 3], [3, 3, 3, 3]]), min_size=2).tolist()
    [[0, 0, 0, 0], [0, 0, 0, 0]]
    """
    labels = np.ascontiguousarray(regions, dtype=np.int32)
    return _core.connected(labels, min_size).reshape(labels.shape)


def merge_regions(
    regions: IndexArray, boundary: FloatMap, n_regions: int, size_power: float = 0.0
) -> IndexArray:
    """Merge neighbors with the weakest common border until ``n_regions`` are left; see `RegionMerging`.

    >>> regions, boundary = np.array([[0, 1, 1, 2]]), np.array([[9, 9, 5, 5]], dtype=np.float32)
    >>> merge_regions(regions, boundary, 2).tolist()
    [[0, 1, 1, 1]]
    """
    labels, _ = checked_regions(regions)
    if boundary.shape != labels.shape:
        raise ValueError(f"regions have shape {labels.shape}, but the boundary map {boundary.shape}")
    values = np.ascontiguousarray(boundary, dtype=np.float32)
    return _core.merge_regions(labels, values, n_regions, size_power).reshape(labels.shape)
