"""Words of texture and color: textons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.descriptors.grid import grid_axes, spread
from multiutility.vision.features.descriptors.words import (
    WordMap,
    count_words,
    learn_centers,
    nearest_centers,
)
from multiutility.vision.features.picture import Picture
from multiutility.vision.regions.boundary import FloatMap


@dataclass(frozen=True)
class TextonWords:
    """Counts of textons: clusters of the responses of 17 filters (Shotton et al. 2006), whitened.

    Responses are taken every ``step`` pixels; ``scale`` multiplies the filters' sizes.
    """

    n_words: int = 200
    step: int = 2
    scale: float = 1.0
    fit_samples: int = 1500  # of each picture

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Cluster responses of the pictures."""
        samples = []
        for picture in pictures:
            found = self.responses(picture)
            samples.append(found[rng.permutation(len(found))[: self.fit_samples]])
        spread_of = np.maximum(np.concatenate(samples).std(axis=0), 1e-6)
        centers = learn_centers([sample / spread_of for sample in samples], self.n_words, rng)
        return {"centers": centers, "spread": spread_of}

    def find(self, picture: Picture, state: State) -> WordMap:
        """Word of every pixel, in one layer."""
        rows, columns = grid_axes(picture.shape, self.step)
        scaled = np.asarray(self.responses(picture) / state["spread"], dtype=np.float32)
        words = nearest_centers(scaled, state["centers"])
        return spread(words.reshape(1, len(rows), len(columns)), self.step, picture.shape)

    def describe(self, picture: Picture, state: State) -> Features:
        """Count the words of every region."""
        return count_words(self, picture, state)

    def responses(self, picture: Picture) -> Features:
        """Responses at the points of the grid, [n, 17]."""
        found = filter_bank(picture.lab, self.scale)
        return found[np.ix_(*grid_axes(picture.shape, self.step))].reshape(-1, found.shape[2])


def filter_bank(lab: FloatMap, scale: float = 1.0) -> FloatMap:
    """Responses [H, W, 17]: Lab at three scales, spots of lightness at four, its slopes at two."""
    lightness = np.ascontiguousarray(lab[..., 0])
    found = [cv2.GaussianBlur(lab, (0, 0), scale * sigma) for sigma in (1, 2, 4)]
    for sigma in (1, 2, 4, 8):
        smooth = cv2.GaussianBlur(lightness, (0, 0), scale * sigma)
        found.append(cv2.Laplacian(smooth, cv2.CV_32F) * sigma**2)
        if sigma in {2, 4}:
            found += [cv2.Sobel(smooth, cv2.CV_32F, x, 1 - x) * sigma for x in (1, 0)]
    return np.dstack(found).astype(np.float32, copy=False)
