"""Points on a regular grid over an image, each standing for the square of pixels around it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def grid_axes(shape: tuple[int, int], step: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows [h] and columns [w] of the points, at the centers of squares of ``step`` pixels.

    >>> [axis.tolist() for axis in grid_axes((2, 9), 4)]
    [[1], [2, 6, 8]]
    """
    return axis(shape[0], step), axis(shape[1], step)


def axis(length: int, step: int) -> NDArray[np.int64]:
    """Centers of steps along one side; the last one may be cut off."""
    return np.minimum(np.arange(0, length, step) + step // 2, length - 1)


def spread(values: NDArray[Any], step: int, shape: tuple[int, int]) -> NDArray[Any]:
    """Give every pixel the value of its square: [..., h, w] to [..., H, W].

    >>> spread(np.array([[1, 2]]), 2, (2, 3)).tolist()
    [[1, 1, 2], [1, 1, 2]]
    """
    rows, columns = (np.arange(length) // step for length in shape)
    return values[..., rows[:, np.newaxis], columns]
