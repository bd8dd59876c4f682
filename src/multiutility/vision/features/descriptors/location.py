"""Where in the image a region is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.descriptors.words import WordMap, count_words
from multiutility.vision.features.picture import Picture


@dataclass(frozen=True)
class Location:
    """Counts of pixels in the cells of a grid of ``rows`` x ``columns`` over the image, row by row.

    >>> picture = Picture(np.zeros((2, 4, 3), np.uint8), np.array([[0, 0, 0, 1], [0, 0, 0, 1]], np.int32))
    >>> Location(rows=1, columns=2).describe(picture, {}).tolist()
    [[4.0, 2.0], [0.0, 2.0]]
    """

    rows: int = 6
    columns: int = 6

    @property
    def n_words(self) -> int:
        """Number of cells."""
        return self.rows * self.columns

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:  # noqa: ARG002
        """Nothing to learn."""
        return {}

    def find(self, picture: Picture, state: State) -> WordMap:  # noqa: ARG002
        """Cell of every pixel, in one layer."""
        height, width = picture.shape
        down, across = np.arange(height) * self.rows // height, np.arange(width) * self.columns // width
        return (down[:, np.newaxis] * self.columns + across)[np.newaxis].astype(np.int32)

    def describe(self, picture: Picture, state: State) -> Features:
        """Count the pixels of every region in every cell."""
        return count_words(self, picture, state)
