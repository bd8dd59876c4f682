"""Words of color."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.descriptors.words import (
    WordMap,
    count_words,
    learn_centers,
    nearest_centers,
)
from multiutility.vision.features.picture import Picture


@dataclass(frozen=True)
class ColorWords:
    """Counts of the nearest of ``n_words`` colors; ``lab`` clusters them in CIE Lab instead of RGB."""

    n_words: int = 128
    lab: bool = False
    fit_samples: int = 1500  # of each picture

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Cluster colors of the pictures."""
        samples = [self.colors(picture) for picture in pictures]
        chosen = [rng.permutation(len(colors))[: self.fit_samples] for colors in samples]
        pairs = zip(samples, chosen, strict=True)
        return {"centers": learn_centers([colors[some] for colors, some in pairs], self.n_words, rng)}

    def find(self, picture: Picture, state: State) -> WordMap:
        """Word of every pixel, in one layer."""
        return nearest_centers(self.colors(picture), state["centers"]).reshape(1, *picture.shape)

    def describe(self, picture: Picture, state: State) -> Features:
        """Count the words of every region."""
        return count_words(self, picture, state)

    def colors(self, picture: Picture) -> Features:
        """Colors of all pixels, [H * W, 3]."""
        colors = picture.lab if self.lab else picture.image.astype(np.float32)
        return colors.reshape(-1, 3)
