"""Masks that tell labels by colors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import strips
from multiutility.datasets.classes import color_text
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.images import MASK_FORMATS, opened, read_image
from multiutility.datasets.palette import Color

N_CODES = 1 << 24
# Of more, sorting takes more time and memory than a table of all colors.
SORTED_PIXELS = 1 << 22


def read_color_mask(path: Path, values: Mapping[Color, int]) -> NDArray[np.uint8]:
    """Mask uint8 [H, W] of a picture in which each value has a color; other colors are errors."""
    with opened(path, MASK_FORMATS):  # Others change colors.
        pass
    codes = color_codes(read_image(path))
    known = np.sort(color_codes(np.array(list(values), dtype=np.int32)))
    places = places_in(known, codes)
    first = int((places < 0).argmax())
    if places.flat[first] < 0:
        y, x = divmod(first, places.shape[1])
        color = color_text(code_color(int(codes[y, x])))
        what = f"the pixel x {x}, y {y} has the color {color}, which is of no class"
        raise DatasetError(path, None, what, "correct it, or add the color to the classes")
    return np.array([values[code_color(int(code))] for code in known], dtype=np.uint8)[places]


def color_codes(colors: NDArray[np.integer]) -> NDArray[np.int32]:
    """One number for each color [..., 3].

    >>> int(color_codes(np.array([1, 2, 3])))
    66051
    """
    codes = colors[..., 0].astype(np.int32)
    for part in (1, 2):
        codes = codes << 8
        codes |= colors[..., part]
    return codes


def places_in(known: NDArray[np.integer], codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Places of codes [H, W] among known ones, which are sorted; -1 for others.

    >>> places_in(np.array([5, 7]), np.array([[7, 5, 6]], dtype=np.int32))
    array([[ 1,  0, -1]], dtype=int32)
    """
    places = np.empty(codes.shape, dtype=np.int32)
    for rows in strips(0, *codes.shape):
        part = codes[rows.start : rows.stop]
        place = np.minimum(np.searchsorted(known, part), len(known) - 1)
        places[rows.start : rows.stop] = np.where(known[place] == part, place, -1)
    return places


def distinct(codes: NDArray[np.int32]) -> NDArray[np.integer]:
    """Codes of colors that occur, sorted.

    >>> distinct(np.array([[7, 5], [7, 7]], dtype=np.int32)).tolist()
    [5, 7]
    """
    if codes.size < SORTED_PIXELS:
        return np.unique(codes)
    there = np.zeros(N_CODES, dtype=np.bool_)
    there[codes] = True
    return np.flatnonzero(there)


def code_color(code: int) -> Color:
    """Color of a number.

    >>> code_color(66051)
    (1, 2, 3)
    """
    return code >> 16, code >> 8 & 255, code & 255
