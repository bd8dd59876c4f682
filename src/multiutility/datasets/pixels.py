"""What a person annotates, in pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


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


@dataclass(frozen=True, slots=True)
class PixelSeed:
    """A pixel of an object: column and row, from 0."""

    label: int
    x: int
    y: int


@dataclass(frozen=True, eq=False)
class PixelAnnotation:
    """All that is annotated of one image, in any mix; labels count from 0.

    ``mask`` uint8 [H, W] holds 0 for void and label + 1. ``instances`` [H, W] holds 0 for none and an id for
    each object; it annotates nothing by itself.
    """

    mask: NDArray[np.uint8] | None = None
    tags: tuple[int, ...] = ()
    boxes: tuple[PixelBox, ...] = ()
    seeds: tuple[PixelSeed, ...] = ()
    instances: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        if self.mask is not None and (self.mask.ndim != 2 or self.mask.dtype != np.uint8):
            raise ValueError(f"mask is {self.mask.dtype} {self.mask.shape}: expected uint8 [H, W]")
        if self.instances is not None and (self.instances.ndim != 2 or self.instances.dtype.kind not in "iu"):
            raise ValueError(
                f"instances is {self.instances.dtype} {self.instances.shape}: expected integers [H, W]"
            )

    @property
    def empty(self) -> bool:
        """Whether nothing is annotated."""
        return self.mask is None and not (self.tags or self.boxes or self.seeds)
