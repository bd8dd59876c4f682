"""Areas of an image: from shapes to pixels, and from pixels to shapes.

Shapes lie in the plane where the pixel of column x and row y is the square from (x, y) to (x + 1, y + 1), so
that a polygon through whole numbers covers whole pixels. A pixel belongs to a shape if its center does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from multiutility.arrays import STRIP_PIXELS, BoolArray, strips


def fill_polygon(points: ArrayLike, height: int, width: int) -> BoolArray:
    """Pixels whose centers are in the polygon with corners ``points`` [N, 2] (x, y), bool [H, W].

    Where the polygon crosses itself, inside and outside alternate. Centers on the border belong to it at its
    left and top, not at its right and bottom: polygons with a common side never share a pixel, nor miss one.

    >>> fill_polygon([(1, 0), (3, 0), (3, 2), (1, 2)], height=2, width=4).astype(int)
    array([[0, 1, 1, 0],
           [0, 1, 1, 0]])
    """
    corners = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    # Every side runs downwards, so that a side that two polygons share meets rows at the very same places.
    sides = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
    upwards = sides[:, 0, 1] > sides[:, 1, 1]
    sides[upwards] = sides[upwards, ::-1]
    area = np.zeros((height, width), dtype=np.bool_)
    if not len(sides):
        return area
    top, bottom = (int(_first_center(y, 0, height)) for y in (sides[:, 0, 1].min(), sides[:, 1, 1].max()))
    for rows in strips(top, bottom, width):
        area[rows.start : rows.stop] = _inside(sides, rows, width)
    return area


def _inside(sides: NDArray[np.float64], rows: range, width: int) -> BoolArray:
    """Pixels of some rows in the polygon with these sides [N, 2, 2], each from its upper to its lower end."""
    shape = len(rows), width + 1
    flips = np.zeros(shape[0] * shape[1], dtype=np.int64)
    at_once = max(1, STRIP_PIXELS // len(rows))
    for first in range(0, len(sides), at_once):
        cells = _crossings(sides[first : first + at_once], rows, width)
        flips += np.bincount(cells, minlength=len(flips))
    return (flips.reshape(shape).cumsum(axis=1)[:, :width] % 2).astype(np.bool_)


def _crossings(sides: NDArray[np.float64], rows: range, width: int) -> NDArray[np.intp]:
    """Cells of a grid [rows, W + 1]: the first column right of each side, in each row that it meets."""
    (x0, y0), (x1, y1) = sides.transpose(1, 2, 0)
    begin, end = (_first_center(y, rows.start, rows.stop) for y in (y0, y1))
    side = np.repeat(np.arange(len(sides)), end - begin)
    row = np.arange(len(side)) - np.repeat(np.cumsum(end - begin) - end, end - begin)
    slope = (x1 - x0)[side] / (y1 - y0)[side]
    x = x0[side] + (row + 0.5 - y0[side]) * slope
    return (row - rows.start) * (width + 1) + _first_center(x, 0, width)


def _first_center(place: NDArray[np.float64], first: int, last: int) -> NDArray[np.intp]:
    """First pixel whose center does not lie before the place, of those from the first; else the last."""
    return np.asarray(np.clip(np.ceil(place - 0.5), first, last), dtype=np.intp)


def fill_disk(x: float, y: float, radius: float, height: int, width: int) -> BoolArray:
    """Pixels whose centers are within the radius of a place, bool [H, W].

    >>> fill_disk(1.5, 1.0, radius=1, height=2, width=3).astype(int)
    array([[0, 1, 0],
           [0, 1, 0]])
    """
    area = np.empty((height, width), dtype=np.bool_)
    across = (np.arange(width) + 0.5 - x) ** 2
    for rows in strips(0, height, width):
        down = (np.array(rows)[:, np.newaxis] + 0.5 - y) ** 2
        area[rows.start : rows.stop] = across + down <= radius**2
    return area


class Canvas:
    """A mask and a map of objects of one image, painted area by area: the last one is on top.

    Areas may have ranks, and then those of higher rank are on top, in whatever order they come: no more than
    one area is in memory.

    >>> canvas = Canvas(1, 4)
    >>> canvas.paint(np.array([[True, True, True, False]]), label=0)
    >>> canvas.paint(np.array([[False, False, True, False]]), label=1, instance=7)
    >>> canvas.mask, canvas.instances
    (array([[1, 1, 2, 0]], dtype=uint8), array([[0, 0, 7, 0]], dtype=int32))
    """

    def __init__(self, height: int, width: int) -> None:
        self._mask = np.zeros((height, width), dtype=np.uint8)
        self._instances = np.zeros((height, width), dtype=np.int32)
        self._ranks: NDArray[np.int32] | None = None

    def paint(self, area: BoolArray, label: int, instance: int = 0, rank: int = 0) -> None:
        """Give the area a label, except where a higher rank was painted; -1 makes it void."""
        if rank and self._ranks is None:
            self._ranks = np.zeros(self._mask.shape, dtype=np.int32)
        if self._ranks is not None:
            area = area & (self._ranks <= rank)
            self._ranks[area] = rank
        self._mask[area] = label + 1
        self._instances[area] = instance

    @property
    def mask(self) -> NDArray[np.uint8] | None:
        """The mask; None if all of it is void."""
        return self._mask if self._mask.any() else None

    @property
    def instances(self) -> NDArray[np.int32] | None:
        """The map of objects; None if there are none."""
        return self._instances if self._instances.any() else None


@dataclass(frozen=True)
class Outline:
    """A closed outline along pixel borders: corners [N, 2] (x, y), and the mask's value and object in it."""

    value: int
    instance: int
    corners: NDArray[np.intp]


def outlines(mask: NDArray[np.uint8], instances: NDArray[np.integer] | None = None) -> list[Outline]:
    """Outlines that give the mask when they are filled in this order, each over those before it.

    There is one for each connected area of one value and object; holes are filled, and what is in them comes
    later. Void areas are among them only where something else would be seen otherwise.

    >>> for one in outlines(np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], dtype=np.uint8)):
    ...     print(one.value, one.corners.tolist())
    1 [[0, 0], [3, 0], [3, 3], [0, 3]]
    0 [[1, 1], [2, 1], [2, 2], [1, 2]]
    """
    found: list[tuple[int, Outline]] = []
    covered = np.zeros(mask.shape, dtype=np.bool_)
    void: list[tuple[int, Outline, tuple[slice, slice], BoolArray]] = []
    for value, instance, window, area in _areas(mask, instances):
        filled = ndimage.binary_fill_holes(area)
        corners = _trace(filled) + np.array([window[1].start, window[0].start])
        outline = Outline(value, instance, corners)
        size = int(filled.sum())
        if value == 0:
            void.append((size, outline, window, area))
        else:
            covered[window] |= filled & ~area
            found.append((size, outline))
    found += [(size, outline) for size, outline, window, area in void if covered[window][area].any()]
    # What lies in a hole is smaller than what is around it, so this order is from the outside inwards.
    return [outline for _, outline in sorted(found, key=lambda one: -one[0])]


def _areas(
    mask: NDArray[np.uint8], instances: NDArray[np.integer] | None
) -> Iterator[tuple[int, int, tuple[slice, slice], BoolArray]]:
    """Value, object, window and area in the window of each 4-connected area."""
    codes = mask.astype(np.int64)
    if instances is not None:
        codes += 256 * np.where(mask, instances, 0).astype(np.int64)
    for code in np.unique(codes).tolist():
        numbers, _ = ndimage.label(codes == code)
        for number, window in enumerate(ndimage.find_objects(numbers), start=1):
            yield code % 256, code // 256, window, numbers[window] == number


def _trace(area: BoolArray) -> NDArray[np.intp]:
    """Corners [N, 2] of the border of an area, clockwise; it must be 4-connected and without holes."""
    padded = np.pad(area, 1)
    inner = padded[1:-1, 1:-1]
    steps: dict[tuple[int, int], tuple[int, int]] = {}
    # Borders at the top, right, bottom and left of pixels, as steps with the area to their right. No two of
    # them start in one place, since there are no holes.
    for neighbor, begin, end in (
        (padded[:-2, 1:-1], (0, 0), (1, 0)),
        (padded[1:-1, 2:], (1, 0), (1, 1)),
        (padded[2:, 1:-1], (1, 1), (0, 1)),
        (padded[1:-1, :-2], (0, 1), (0, 0)),
    ):
        rows, columns = np.nonzero(inner & ~neighbor)
        starts = zip((columns + begin[0]).tolist(), (rows + begin[1]).tolist(), strict=True)
        ends = zip((columns + end[0]).tolist(), (rows + end[1]).tolist(), strict=True)
        steps.update(zip(starts, ends, strict=True))
    first = min(steps, key=lambda place: (place[1], place[0]))
    path = [first]
    while steps[path[-1]] != first:
        path.append(steps[path[-1]])
    places = np.array(path, dtype=np.intp)
    turns = (places - np.roll(places, 1, axis=0) != np.roll(places, -1, axis=0) - places).any(axis=1)
    return np.asarray(places[turns])
