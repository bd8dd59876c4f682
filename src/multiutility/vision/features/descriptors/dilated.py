"""Words in and closely around a region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multiutility.vision.features.descriptor import Features, State, describe_once, fit_once
from multiutility.vision.features.descriptors.grid import grid_axes
from multiutility.vision.features.descriptors.words import Words, count_at
from multiutility.vision.features.picture import Picture

STEP = 4  # pixels outside a region are counted on a grid: one of 4 x 4


@dataclass(frozen=True)
class Dilated:
    """Counts of words in each region and up to ``reach`` around it, as a share of the image's longer side."""

    words: Words
    reach: float = 0.04

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Fit the words."""
        return fit_once(self.words, pictures, rng)

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, n_words]."""
        inside = describe_once(self.words, picture, state)
        regions, places = picture.once(("around", self.reach), lambda: around(picture, self.reach))
        outside = count_at(self.words, picture, state, regions, places)
        return inside + np.float32(STEP**2) * outside


def around(picture: Picture, reach: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of a region and a pixel of the grid outside of it but near: regions [P], flat pixels [P]."""
    rows, columns = grid_axes(picture.shape, STEP)
    coarse = picture.regions[np.ix_(rows, columns)].astype(np.int64)
    radius = max(1, round(reach * max(picture.shape) / STEP))
    padded = np.pad(coarse, radius, constant_values=-1)
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    disc = y**2 + x**2 <= radius**2
    height, width = coarse.shape
    views = [
        padded[radius + dy : radius + dy + height, radius + dx : radius + dx + width].ravel()
        for dy, dx in zip(y[disc], x[disc], strict=True)
    ]
    near = np.sort(np.stack(views, axis=1), axis=1)
    # After sorting, a region that is met again stands next to itself.
    new = (near >= 0) & (near != coarse.reshape(-1, 1))
    new[:, 1:] &= near[:, 1:] != near[:, :-1]
    points = (rows[:, np.newaxis] * picture.shape[1] + columns).ravel()
    return near[new], points[np.nonzero(new)[0]]
