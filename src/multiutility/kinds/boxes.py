"""Boxes: rectangles around objects, which touch all four sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from multiutility.kinds.kind import Kind, Table
from multiutility.kinds.problems import Problem, extent


@dataclass(frozen=True, slots=True)
class PixelBox:
    """A box around an object; ``right`` and ``bottom`` are exclusive, so that the width is right - left.

    A pixel is in the box if its center is: that of column x is x + 0.5.
    """

    label: int
    left: float
    top: float
    right: float
    bottom: float

    def n_pixels(self, height: int, width: int) -> int:
        """Return the number of pixels of an image that are in the box.

        >>> PixelBox(0, left=-5, top=1, right=2, bottom=2.4).n_pixels(height=4, width=6)
        2
        """
        columns = centers(self.left, self.right, width)
        return len(columns) * len(centers(self.top, self.bottom, height))


def centers(first: float, last: float, n: int) -> range:
    """Pixels of a line of n whose centers lie between two places, the last of them exclusive.

    >>> centers(0.5, 2.5, 10), centers(-3, 99, 10)
    (range(0, 2), range(0, 10))
    """
    begin, end = np.clip(np.ceil([first - 0.5, last - 0.5]), 0, n)
    return range(int(begin), int(end))


def make_box(label: int, numbers: Sequence[float], _wrong: list[Problem]) -> PixelBox:
    """Box with these sides."""
    return PixelBox(label, *numbers)


def sides(box: PixelBox) -> tuple[float, ...]:
    """Left, top, right and bottom of a box."""
    return box.left, box.top, box.right, box.bottom


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


def corners(box: PixelBox) -> str:
    """Return a box as text."""
    return f"left {box.left:g}, top {box.top:g}, right {box.right:g}, bottom {box.bottom:g}"


BOXES = Kind(
    "boxes",
    "boxes",
    mended=0.8,  # it leaves open which of its pixels are the object
    table=Table(
        "boxes.csv",
        ("left", "top", "right", "bottom"),
        make_box,
        sides,
        attrgetter("label"),
        placed=True,
        flaw=shape_problem,
        problem=box_problem,
        doubt=overhang_problem,
    ),
)
