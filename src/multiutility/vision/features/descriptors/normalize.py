"""Features scaled to a common length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multiutility.vision.features.descriptor import Descriptor, Features, State, describe_once, fit_once
from multiutility.vision.features.picture import Picture


@dataclass(frozen=True)
class L1:
    """Features over their sum: counts become histograms. Regions without any stay zero."""

    base: Descriptor

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Fit the base."""
        return fit_once(self.base, pictures, rng)

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, D]."""
        found = describe_once(self.base, picture, state)
        return over_length(found, np.abs(found).sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class L2:
    """Features over their Euclidean length. Regions without any stay zero."""

    base: Descriptor

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Fit the base."""
        return fit_once(self.base, pictures, rng)

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, D]."""
        found = describe_once(self.base, picture, state)
        return over_length(found, np.sqrt(np.einsum("vd,vd->v", found, found))[:, np.newaxis])


def over_length(found: Features, length: Features) -> Features:
    """Rows over their lengths [V, 1], where these are not zero: all of such a row is."""
    return np.asarray(found / np.where(length > 0, length, np.float32(1)), dtype=np.float32)
