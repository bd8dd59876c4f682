"""Counts gathered from around a region: neighbors, larger regions, the whole image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from multiutility.vision.features.descriptor import Descriptor, Features, State, describe_once, fit_once
from multiutility.vision.features.picture import Picture
from multiutility.vision.regions.merging import merge_regions


@dataclass(frozen=True)
class Neighbors:
    """Sums of the base's counts over the neighbors of each region, itself left out."""

    base: Descriptor

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Fit the base."""
        return fit_once(self.base, pictures, rng)

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, D]."""
        touching = (picture.neighbors > 0).astype(np.float32)
        return np.asarray(touching @ describe_once(self.base, picture, state), dtype=np.float32)


@dataclass(frozen=True)
class Parents:
    """Sums of the base's counts over the larger region that each region is part of.

    The larger ones come from merging regions along weak borders until ``n_regions`` are left.
    """

    base: Descriptor
    n_regions: int = 16

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Fit the base."""
        return fit_once(self.base, pictures, rng)

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, D]."""
        groups = picture.once(("parents", self.n_regions), lambda: parents(picture, self.n_regions))
        belongs = csr_array((np.ones(len(groups), np.float32), (groups, np.arange(len(groups)))))
        return np.asarray((belongs @ describe_once(self.base, picture, state))[groups], dtype=np.float32)


@dataclass(frozen=True)
class Scene:
    """Sums of the base's counts over the whole image, the same for all its regions."""

    base: Descriptor

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Fit the base."""
        return fit_once(self.base, pictures, rng)

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, D]."""
        found = describe_once(self.base, picture, state)
        return np.broadcast_to(found.sum(axis=0), found.shape)


def parents(picture: Picture, n_regions: int) -> NDArray[np.int32]:
    """The larger region of each region, [V]."""
    larger = merge_regions(picture.regions, picture.boundary, n_regions, size_power=0.5)
    groups = np.empty(picture.n_regions, dtype=np.int32)
    groups[picture.regions.ravel()] = larger.ravel()
    return groups
