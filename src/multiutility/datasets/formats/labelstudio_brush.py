"""What is painted in Label Studio: a mask, or scribbles.

A mask is all that counts of its image: one stroke that is taken for it silences tags, boxes and points, which
scribbles leave as they are. So brush strokes are a mask only if that is asked for, if their control is named
``mask``, if there are polygons, whose mask they complete, or if they leave next to nothing open.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import BoolArray
from multiutility.datasets.formats.regions import Canvas

# What strokes are: by "auto", what the image as a whole suggests.
Brush: TypeAlias = Literal["auto", "mask", "scribbles"]

# Part of the image that strokes must cover to be a mask. Painted borders have gaps, so it is not all of it.
COVERED = 0.95
# Names of controls that say what their strokes are; our own exports have both.
NAMED: dict[str, Brush] = {"mask": "mask", "scribbles": "scribbles"}


class Painting:
    """A mask, or scribbles, of one image, painted area by area; ``uses`` are those of all areas to come.

    >>> painting = Painting(1, 4, uses=["auto"])
    >>> painting.paint(np.array([[True, False, False, False]]), label=0, instance=1, use="auto")
    >>> painting.finish()
    (None, None, array([[1, 0, 0, 0]], dtype=uint8))
    >>> painting.paint(np.array([[False, True, True, True]]), label=1, instance=2, use="auto")
    >>> painting.finish()
    (array([[1, 2, 2, 2]], dtype=uint8), array([[1, 2, 2, 2]], dtype=int32), None)
    """

    def __init__(self, height: int, width: int, uses: Iterable[Brush]) -> None:
        self._has_mask = "mask" in uses
        self._mask, self._scribbles = Canvas(height, width), Canvas(height, width)

    def paint(self, area: BoolArray, label: int, instance: int, use: Brush) -> None:
        """Give an area a label, over earlier ones of the same use."""
        if use == "scribbles":
            self._scribbles.paint(area, label)
        else:
            self._mask.paint(area, label, instance)

    def finish(
        self,
    ) -> tuple[NDArray[np.uint8] | None, NDArray[np.int32] | None, NDArray[np.uint8] | None]:
        """Return the mask, its objects, and the scribbles, each None if there are none."""
        mask, scribbles = self._mask.mask, self._scribbles.mask
        if mask is None or self._has_mask or np.count_nonzero(mask) >= COVERED * mask.size:
            return mask, self._mask.instances, scribbles
        return None, None, mask if scribbles is None else np.where(mask > 0, mask, scribbles)
