"""Whether annotations fit the image: their size, and where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.errors import Problem
from multiutility.datasets.pixels import PixelBox, PixelSeed


def shape_problem(box: PixelBox) -> Problem | None:
    """Return what is wrong with a box in any image."""
    if box.right <= box.left or box.bottom <= box.top:
        what = f"inverted or empty box: left {box.left:g}, right {box.right:g}, top {box.top:g}, bottom"
        return f"{what} {box.bottom:g}", "left must be less than right, and top less than bottom"
    return None


def box_problem(box: PixelBox, height: int, width: int) -> Problem | None:
    """Return why a box cannot be used in an image: it has none of the pixels.

    >>> box_problem(PixelBox(0, left=7, top=0, right=9, bottom=3), height=4, width=6)[0]
    'no pixel is in the box (left 7, top 0, right 9, bottom 3): the image has width 6 and height 4'
    """
    if shape_problem(box) is None and not box.n_pixels(height, width):
        return f"no pixel is in the box ({corners(box)}): {extent(height, width)}", "correct or remove it"
    return shape_problem(box)


def overhang_problem(box: PixelBox, height: int, width: int, tolerance: float = 1.0) -> Problem | None:
    """Return how far a box reaches beyond the image, if that is more than rounding makes."""
    beyond = max(-box.left, -box.top, box.right - width, box.bottom - height)
    if beyond > tolerance:
        what = f"the box ({corners(box)}) reaches {beyond:g} pixels beyond the image: {extent(height, width)}"
        return what, "cut it at the border, or check that it was drawn in this image, at this size"
    return None


def seed_problem(seed: PixelSeed, height: int, width: int) -> Problem | None:
    """Return why a seed cannot be used in an image: it is outside.

    >>> seed_problem(PixelSeed(0, x=6, y=0), height=4, width=6)
    ('the seed (x 6, y 0) is outside: the image has width 6 and height 4', 'pixels are counted from 0')
    """
    if not (0 <= seed.x < width and 0 <= seed.y < height):
        what = f"the seed (x {seed.x}, y {seed.y}) is outside: {extent(height, width)}"
        return what, "pixels are counted from 0"
    return None


def corners(box: PixelBox) -> str:
    """Return a box as text."""
    return f"left {box.left:g}, top {box.top:g}, right {box.right:g}, bottom {box.bottom:g}"


def extent(height: int, width: int) -> str:
    """Return the size of an image as text."""
    return f"the image has width {width} and height {height}"


def size_problem(indices: NDArray[Any], height: int, width: int) -> Problem | None:
    """Return how the size of a mask differs from that of the image."""
    if indices.shape != (height, width):
        what = f"has width {indices.shape[1]} and height {indices.shape[0]}: {extent(height, width)}"
        return what, "make them the same size, pixel by pixel"
    return None


def mask_problem(mask: NDArray[np.uint8], n_classes: int) -> Problem | None:
    """Return which index of a mask is beyond the classes."""
    if mask.size and mask.max() > n_classes:
        return f"has the index {mask.max()}: there are {n_classes} classes", "use 0 for void, 1 for the first"
    return None
