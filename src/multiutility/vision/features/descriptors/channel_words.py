"""Values of one color channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.descriptors.words import WordMap, count_words
from multiutility.vision.features.picture import Picture


@dataclass(frozen=True)
class ChannelWords:
    """Counts of one channel's values (0 red, 1 green, 2 blue) in ``n_words`` even bins."""

    channel: int
    n_words: int = 11

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:  # noqa: ARG002
        """Nothing to learn."""
        return {}

    def find(self, picture: Picture, state: State) -> WordMap:  # noqa: ARG002
        """Bin of every pixel, in one layer."""
        return picture.image[np.newaxis, ..., self.channel].astype(np.int32) * self.n_words // 256

    def describe(self, picture: Picture, state: State) -> Features:
        """Count the pixels of every region in every bin."""
        return count_words(self, picture, state)
