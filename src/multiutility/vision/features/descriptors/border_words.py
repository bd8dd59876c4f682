"""Words along the sides of a region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multiutility.vision.features.descriptor import Features, State, fit_once
from multiutility.vision.features.descriptors.words import Words, count_at
from multiutility.vision.features.picture import Picture

SIDES = ("left", "right", "top", "bottom")


@dataclass(frozen=True)
class BorderWords:
    """Counts of words along one side of each region: on both pixels of every pair across its border there."""

    words: Words
    side: str

    def __post_init__(self) -> None:
        if self.side not in SIDES:
            raise ValueError(f"side is {self.side!r}: expected one of {', '.join(SIDES)}")

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Fit the words."""
        return fit_once(self.words, pictures, rng)

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, n_words]."""
        borders = picture.borders
        # The second pixel of a pair is right of the first, or below it.
        across = borders.second == borders.first + 1
        if picture.shape[1] == 1:
            across[:] = False
        chosen = across if self.side in {"left", "right"} else ~across
        first, second = borders.first[chosen], borders.second[chosen]
        owner = picture.regions.ravel()[second if self.side in {"left", "top"} else first]
        pixels = np.concatenate((first, second))
        return count_at(self.words, picture, state, np.tile(owner, 2), pixels)
