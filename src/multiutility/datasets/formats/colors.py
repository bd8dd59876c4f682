"""Masks that tell labels by colors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.classes import Color, color_text
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.images import MASK_FORMATS, opened, read_image


def read_color_mask(path: Path, values: Mapping[Color, int]) -> NDArray[np.uint8]:
    """Mask uint8 [H, W] of a picture in which each value has a color; other colors are errors."""
    with opened(path, MASK_FORMATS):  # Others change colors.
        pass
    codes = color_codes(read_image(path))
    known = np.array(sorted(values, key=_code), dtype=np.int64).reshape(-1, 3)
    known_codes = color_codes(known)
    place = np.minimum(np.searchsorted(known_codes, codes), len(known_codes) - 1)
    unknown = np.argwhere(known_codes[place] != codes)
    if len(unknown):
        y, x = unknown[0].tolist()
        color = color_text(code_color(int(codes[y, x])))
        what = f"the pixel x {x}, y {y} has the color {color}, which is of no class"
        raise DatasetError(path, None, what, "correct it, or add the color to the classes")
    table = np.array([values[code_color(int(code))] for code in known_codes], dtype=np.uint8)
    return table[place]


def color_codes(colors: NDArray[np.generic]) -> NDArray[np.int64]:
    """One number for each color [..., 3].

    >>> int(color_codes(np.array([1, 2, 3])))
    66051
    """
    return np.asarray(colors.astype(np.int64) @ [1 << 16, 1 << 8, 1])


def code_color(code: int) -> Color:
    """Color of a number.

    >>> code_color(66051)
    (1, 2, 3)
    """
    return code >> 16, code >> 8 & 255, code & 255


def _code(color: Color) -> int:
    return color[0] << 16 | color[1] << 8 | color[2]
