"""The layout of edges in a region's bounding box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.descriptors.shape import box_points
from multiutility.vision.features.picture import Picture
from multiutility.vision.regions.boundary import FloatMap


@dataclass(frozen=True)
class Gist:
    """Energy of edges by scale and angle in cells of a region's bounding box (after Oliva and Torralba 2001).

    ``angles`` holds the number of angles at each scale, from fine to coarse, each twice as large as the last.
    """

    angles: tuple[int, ...] = (8, 8, 4)
    cells: int = 4

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:  # noqa: ARG002
        """Nothing to learn."""
        return {}

    def describe(self, picture: Picture, state: State) -> Features:  # noqa: ARG002
        """Describe every region: float32 [V, angles * cells * cells]."""
        energy = picture.once(("edge energy", self.angles), lambda: edge_energy(picture.lab, self.angles))
        found = energy.reshape(-1, energy.shape[2])[box_points(picture, self.cells)].mean(axis=2)
        return np.asarray(found.reshape(picture.n_regions, -1), dtype=np.float32)


def edge_energy(lab: FloatMap, angles: Sequence[int]) -> FloatMap:
    """Energy of lightness edges, smoothed: [H, W, sum of angles]; edges are of no sign, so angles span 180°.

    Second derivatives of a Gaussian are steered to each angle, so one scale costs three filters.
    """
    lightness = np.ascontiguousarray(lab[..., 0]) / 100
    found = []
    for scale, n_angles in enumerate(angles):
        sigma = 2.0**scale
        smooth = cv2.GaussianBlur(lightness, (0, 0), sigma)
        xx, yy, xy = (cv2.Sobel(smooth, cv2.CV_32F, *order) * sigma**2 for order in ((2, 0), (0, 2), (1, 1)))
        turns = np.pi * np.arange(n_angles, dtype=np.float32) / n_angles
        for cos, sin in zip(np.cos(turns), np.sin(turns), strict=True):
            steered = np.abs(cos**2 * xx + sin**2 * yy + 2 * cos * sin * xy)
            found.append(cv2.GaussianBlur(steered, (0, 0), 2 * sigma))
    return np.dstack(found).astype(np.float32, copy=False)
