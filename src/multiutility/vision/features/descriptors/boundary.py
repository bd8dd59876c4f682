"""Similarities of neighbors by the strength of the boundary between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.picture import Picture


@dataclass(frozen=True)
class Boundary:
    """The paper's pairwise features: ``exp(-c / s)`` for each of the scales s, and 1.

    c in 0..255 is the mean of the boundary map along the common border.
    """

    scales: tuple[float, ...] = (10.0, 40.0, 100.0)

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:  # noqa: ARG002
        """Nothing to learn."""
        return {}

    def describe(self, picture: Picture, state: State) -> Features:  # noqa: ARG002
        """Describe every edge: float32 [E, scales + 1]."""
        similar = np.exp(-picture.strength[:, np.newaxis] / np.array(self.scales))
        return np.concatenate((similar, np.ones((len(similar), 1))), axis=1).astype(np.float32)
