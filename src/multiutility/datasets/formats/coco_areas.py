"""Areas as COCO stores them: polygons and run lengths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pycocotools import mask as coco_mask

from multiutility.arrays import BoolArray
from multiutility.kinds.problems import extent


class AreaError(ValueError):
    """An area that cannot be used."""


def fill_polygons(polygons: Sequence[Sequence[float]], height: int, width: int) -> BoolArray:
    """Pixels in any of the polygons [x, y, x, y, ...] as pycocotools fills them, bool [H, W].

    A pixel belongs to a polygon if its center does; pycocotools rounds places to a fifth of a pixel.
    """
    area = np.zeros((height, width), dtype=np.bool_)
    for numbers in polygons:
        if len(numbers) < 6 or len(numbers) % 2:
            raise AreaError(f"a polygon has {len(numbers)} numbers, expected x and y of at least 3 corners")
        corners = np.array(numbers).reshape(-1, 2)
        check_extent(corners, height, width)
        (runs,) = coco_mask.frPyObjects([list(numbers)], height, width)
        area |= decode_runs(runs["size"], runs["counts"].decode("ascii"), height, width)
    return area


def check_extent(corners: NDArray[np.float64], height: int, width: int) -> None:
    """Raise for polygons far beyond the image, or longer than outlines are, for which pycocotools fails."""
    size = np.array([width, height])
    if (corners < -size).any() or (corners > 2 * size).any():
        raise AreaError(f"a polygon reaches far beyond the image ({extent(height, width)})")
    length = np.abs(np.diff(corners, axis=0, append=corners[:1])).sum()
    if length > 2 * height * width + 16 * (height + width):
        raise AreaError("a polygon is longer than the outline of any area")


def decode_runs(size: Sequence[float], counts: str | Sequence[float], height: int, width: int) -> BoolArray:
    """Pixels of run lengths, plain or compressed, bool [H, W]; they go down the columns, void first.

    >>> decode_runs([2, 3], [1, 3, 2], height=2, width=3).astype(int)
    array([[0, 1, 0],
           [1, 1, 0]])
    """
    if list(size) != [height, width]:
        raise AreaError(f"has the size {list(size)}: {extent(height, width)}")
    runs = unpack_counts(counts) if isinstance(counts, str) else [int(count) for count in counts]
    # Not left to pycocotools, which fills what runs leave out with whatever is in memory.
    if min(runs, default=0) < 0 or sum(runs) != height * width:
        raise AreaError(f"its runs have {sum(runs)} pixels, the image has {height * width}")
    return np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(width, height).T


def unpack_counts(text: str) -> list[int]:
    """Run lengths of COCO's compressed text: 5 bits a character, the sixth tells whether more follow.

    From the fourth on, a run is stored as its difference to the one before the last.

    >>> unpack_counts("52203")
    [5, 2, 2, 2, 5]
    """
    runs: list[int] = []
    value, shift = 0, 0
    for character in text:
        bits = ord(character) - 48
        if not 0 <= bits < 64:
            raise AreaError(f"its counts have the character {character!r}")
        value |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            if shift > 40:
                raise AreaError("its counts are too long for run lengths")
            continue
        value -= (bits >> 4 & 1) << shift
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
        value, shift = 0, 0
    if shift:
        raise AreaError("its counts end within a run length")
    return runs


def encode_runs(area: BoolArray) -> dict[str, object]:
    """Compressed run lengths of an area [H, W], as JSON has them.

    >>> encode_runs(np.array([[False, True, False], [True, True, False]]))
    {'size': [2, 3], 'counts': '132'}
    """
    runs = coco_mask.encode(np.asfortranarray(area, dtype=np.uint8))
    return {"size": [int(one) for one in runs["size"]], "counts": runs["counts"].decode("ascii")}
