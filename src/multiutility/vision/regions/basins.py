"""Basins of a map: what drains to the same minimum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from skimage.segmentation import watershed

from multiutility import _core
from multiutility.arrays import IndexArray
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


def drained(surface: FloatMap) -> IndexArray | None:
    """Return the flat index of the minimum that each pixel drains to; None if that depends on a queue."""
    found = _core.drained(np.ascontiguousarray(surface, dtype=np.float32))
    return found.reshape(surface.shape) if found.size else None
