"""Small pictures of regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.descriptors.shape import box_points, own_points
from multiutility.vision.features.picture import Picture


@dataclass(frozen=True)
class Thumbnail:
    """RGB in 0..1 of a region's bounding box at ``cells`` x ``cells``; with ``masked``, others are black."""

    cells: int = 8
    masked: bool = False

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:  # noqa: ARG002
        """Nothing to learn."""
        return {}

    def describe(self, picture: Picture, state: State) -> Features:  # noqa: ARG002
        """Describe every region: float32 [V, 3 * cells * cells]."""
        points = box_points(picture, self.cells)
        colors = picture.image.reshape(-1, 3)[points].astype(np.float32)
        if self.masked:
            colors *= own_points(picture, self.cells)[..., np.newaxis]
        return np.asarray(colors.mean(axis=2).reshape(picture.n_regions, -1) / 255, dtype=np.float32)
