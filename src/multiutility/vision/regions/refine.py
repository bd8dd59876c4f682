"""Borders of predicted masks, moved to where the colors change."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

# Colors are counted in 8 x 8 x 8 bins. Some of each histogram is the same for all colors, since a label may
# have colors here that it has nowhere else in the image.
BITS = 5
N_BINS = 1 << 3 * (8 - BITS)
PRIOR = 0.02


@dataclass(frozen=True)
class Refinement:
    """How borders are moved: by at most ``reach`` pixels, to where the colors change.

    Superpixels are often a few pixels off. Here pixels near a border between labels take the label whose
    colors in this image fit best: with histograms ``p_k`` of the colors of each label's pixels, the label k
    that maximizes the mean of ``log p_k(color)`` over a ``window``, minus ``pull`` times the distance from
    the pixels of k. In the histograms pixels count by their squared distance from the border, up to the
    reach, as those next to it may have the wrong label. A wide window is sure in textures, and erases what is
    smaller than itself.

    >>> image = np.zeros((16, 16, 3), np.uint8)
    >>> image[:, 6:] = 255
    >>> mask = np.ones((16, 16), np.uint8)
    >>> mask[:, 8:] = 2
    >>> Refinement(reach=8.0, window=1, pull=0.2)(image, mask)[0]
    array([1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2], dtype=uint8)
    """

    reach: float
    window: int
    pull: float

    def __post_init__(self) -> None:
        if not (0 < self.reach < np.inf and self.window >= 1 and 0 <= self.pull < np.inf):
            raise ValueError(f"{self}: expected a positive reach and window, and a pull of 0 or more")

    def __call__(self, image: NDArray[np.uint8], mask: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the mask [H, W] of an image [H, W, 3] with its borders moved."""
        labels = np.unique(mask).tolist()
        if len(labels) == 1:
            return mask
        distances = [distance_from(mask == label) for label in labels]
        to_border = np.sort(distances, axis=0)[1]  # the label that is next, after a pixel's own
        trust = np.minimum(to_border, self.reach) ** 2
        bins = (image >> BITS).astype(np.intp) @ np.array([1 << 2 * (8 - BITS), 1 << (8 - BITS), 1])
        result, best = mask.copy(), np.full(mask.shape, -np.inf, dtype=np.float32)
        for label, distance in zip(labels, distances, strict=True):
            own = mask == label
            fit = log_shares(bins[own], trust[own])[bins]
            score = np.asarray(cv2.blur(fit, (self.window, self.window)), np.float32)
            score -= np.float32(self.pull) * distance
            better = score > best
            result[better] = label
            best[better] = score[better]
        return np.where(to_border <= self.reach, result, mask)


# For large smooth things, for textures with small ones among them, and for things of a few pixels.
WIDE, MIDDLE, NARROW = Refinement(8.0, 9, 0.2), Refinement(8.0, 5, 0.2), Refinement(4.0, 5, 1.0)


def distance_from(pixels: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Distance of all pixels from the nearest of those [H, W]."""
    return np.asarray(cv2.distanceTransform((~pixels).astype(np.uint8), cv2.DIST_L2, 5), np.float32)


def log_shares(bins: NDArray[np.intp], weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Logarithms of the shares that bins have, [512]."""
    counts = np.bincount(bins, weights, minlength=N_BINS)
    shares = (1 - PRIOR) * counts / counts.sum() + PRIOR / N_BINS
    return np.asarray(np.log(shares), np.float32)
