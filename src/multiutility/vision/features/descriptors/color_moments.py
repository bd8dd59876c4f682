"""Mean and spread of the colors of a region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.picture import Picture


@dataclass(frozen=True)
class ColorMean:
    """Mean RGB of a region, in 0..1."""

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:  # noqa: ARG002
        """Nothing to learn."""
        return {}

    def describe(self, picture: Picture, state: State) -> Features:  # noqa: ARG002
        """Describe every region: float32 [V, 3]."""
        return picture.pool_mean(picture.image.astype(np.float32) / 255)


@dataclass(frozen=True)
class ColorSpread:
    """Standard deviation of RGB in a region, in 0..1."""

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:  # noqa: ARG002
        """Nothing to learn."""
        return {}

    def describe(self, picture: Picture, state: State) -> Features:  # noqa: ARG002
        """Describe every region: float32 [V, 3]."""
        colors = picture.image.astype(np.float32) / 255
        off = colors - picture.pool_mean(colors)[picture.regions]
        return np.sqrt(picture.pool_mean(off * off))
