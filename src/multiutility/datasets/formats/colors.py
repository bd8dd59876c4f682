"""Masks that tell labels by colors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.classes import Color, color_text
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.images import MASK_FORMATS, opened, read_image

N_CODES = 1 << 24
# In a table of values, which are not negative.
UNKNOWN = -1


def read_color_mask(path: Path, values: Mapping[Color, int]) -> NDArray[np.uint8]:
    """Mask uint8 [H, W] of a picture in which each value has a color; other colors are errors."""
    with opened(path, MASK_FORMATS):  # Others change colors.
        pass
    codes = color_codes(read_image(path))
    table = np.full(N_CODES, UNKNOWN, dtype=np.int16)
    for color, value in values.items():
        table[color_codes(np.array(color))] = value
    mask = table[codes]
    place = int((mask == UNKNOWN).argmax())
    if mask.flat[place] == UNKNOWN:
        y, x = divmod(place, mask.shape[1])
        color_of = color_text(code_color(int(codes[y, x])))
        what = f"the pixel x {x}, y {y} has the color {color_of}, which is of no class"
        raise DatasetError(path, None, what, "correct it, or add the color to the classes")
    return mask.astype(np.uint8)


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


def distinct(codes: NDArray[np.int32]) -> NDArray[np.intp]:
    """Codes of colors that occur, sorted; takes less memory and time than sorting all of them.

    >>> distinct(np.array([[7, 5], [7, 7]], dtype=np.int32)).tolist()
    [5, 7]
    """
    there = np.zeros(N_CODES, dtype=np.bool_)
    there[codes] = True
    return np.flatnonzero(there)


def code_color(code: int) -> Color:
    """Color of a number.

    >>> code_color(66051)
    (1, 2, 3)
    """
    return code >> 16, code >> 8 & 255, code & 255
