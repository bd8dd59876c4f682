"""Masks: every pixel has its label, or is void."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from multiutility.kinds.kind import IndexImages, Kind
from multiutility.kinds.problems import Problem

FOLDER = "masks"


def mask_problem(mask: NDArray[Any], n_classes: int) -> Problem | None:
    """Return which index of a mask is beyond the classes."""
    if mask.size and mask.max() > n_classes:
        return f"has the index {mask.max()}: there are {n_classes} classes", "use 0 for void, 1 for the first"
    return None


MASK = Kind("mask", "masks", mended=1.0, images=IndexImages(FOLDER, mask_problem))
