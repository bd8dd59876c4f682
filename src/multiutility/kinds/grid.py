"""The superpixels of an image, which annotations in pixels are brought to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from multiutility.annotations import Profile
from multiutility.annotations.lines import MARGIN
from multiutility.arrays import IndexArray


@dataclass(frozen=True, eq=False)
class Grid:
    """Superpixels ``regions`` [H, W], and how marks are brought to them.

    Sizes are in units of ``1 / cell`` pixels. ``again`` gets the regions another time, for those who would
    have to keep them. Boxes lose the part ``shrink`` of their width and height on each side, and have the
    ``profiles`` of their labels; loose ones are up to ``margin`` of their size from their objects, on each
    side. ``strict`` and ``tight`` are those of ``Joint``.
    """

    regions: IndexArray
    n_labels: int
    cell: float = 1.0
    again: Callable[[], IndexArray] | None = None
    shrink: float = 0.06
    profiles: Mapping[int, Profile] = field(default_factory=dict)
    strict: bool = False
    tight: bool = True
    margin: float = MARGIN

    @property
    def n_nodes(self) -> int:
        """Number of superpixels."""
        return int(self.regions.max()) + 1

    def distance_to_center(self, row: int, column: int) -> float:
        """Distance of a pixel from the mean place of its superpixel's pixels."""
        rows, columns = np.nonzero(self.regions == self.regions[row, column])
        return float(np.hypot(row - rows.mean(), column - columns.mean()))
