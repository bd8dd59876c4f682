"""The same number for every region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.picture import Picture


@dataclass(frozen=True)
class Constant:
    """A feature of 1, whose weights are the intercepts of the labels' scores.

    Features of length 1 around a mean of zero cannot tell how frequent labels are: without a constant,
    rare labels are found everywhere.
    """

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:  # noqa: ARG002
        """Nothing to learn."""
        return {}

    def describe(self, picture: Picture, state: State) -> Features:  # noqa: ARG002
        """Describe every region: float32 [V, 1]."""
        return np.ones((picture.n_regions, 1), dtype=np.float32)
