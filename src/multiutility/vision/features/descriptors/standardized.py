"""Features around zero, of length about one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multiutility.vision.features.descriptor import Descriptor, Features, State, describe_once, fit_once
from multiutility.vision.features.picture import Picture


@dataclass(frozen=True)
class Standardized:
    """The base's features less their mean, over the root mean square of their lengths then."""

    base: Descriptor

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Fit the base, and find mean and length over all regions."""
        state = fit_once(self.base, pictures, rng)
        # Pictures of their own, so that what is found on them is not kept for all of them.
        found = [self.base.describe(Picture(one.image, one.regions), state) for one in pictures]
        values = np.concatenate(found).astype(np.float64)
        mean = values.mean(axis=0)
        length = np.sqrt(((values - mean) ** 2).sum(axis=1).mean())
        return {**state, "standard.mean": mean, "standard.length": np.maximum(length, 1e-6)}

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, D]."""
        found = describe_once(self.base, picture, state)
        return np.asarray((found - state["standard.mean"]) / state["standard.length"], dtype=np.float32)
