"""What simple filters see of a region: color, edges, lines and blobs, against the rest of the image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.picture import Picture
from multiutility.vision.regions.boundary import FloatMap

# Pictures that scales are found on: more would only take time.
N_PICTURES = 32


@dataclass(frozen=True)
class Filters:
    """Mean responses of filters over each region, less those of the image; standardized.

    They are CIE Lab, and for each of the ``sigmas`` (in pixels) of a Gaussian: the smoothed Lab, and of its
    lightness the length of the gradient and the eigenvalues of the Hessian. Less the image's own they do not
    depend on its exposure or stain. Maps of a sigma beyond 2 are made from a smaller image.
    """

    sigmas: tuple[float, ...] = (0.7, 1.6, 3.5, 7.0)

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Learn the deviation of every channel."""
        chosen = np.sort(rng.permutation(len(pictures))[:N_PICTURES])
        found = np.concatenate([self.means(pictures[p]) for p in chosen.tolist()])
        std = np.sqrt((found * found).mean(axis=0))
        return {"std": np.where(std > 0, std, np.float32(1))}

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, 3 + 6 n_sigmas]."""
        return np.asarray(self.means(picture) / state["std"], dtype=np.float32)

    def means(self, picture: Picture) -> Features:
        """Means of all channels over each region, less those over the image."""
        maps = [picture.lab, *(resized_responses(picture.lab, sigma) for sigma in self.sigmas)]
        found = np.concatenate([picture.pool_mean(one) for one in maps], axis=1)
        shares = (picture.sizes / picture.regions.size).astype(np.float32)
        return np.asarray(found - shares @ found, dtype=np.float32)


def resized_responses(lab: FloatMap, sigma: float) -> FloatMap:
    """Responses at a sigma, from an image in which it is 1 to 2 pixels, enlarged again: [H, W, 6]."""
    (height, width), factor = lab.shape[:2], 1
    while sigma / factor > 2:
        factor *= 2
    if factor == 1:
        return responses(lab, sigma)
    small = (max(1, width // factor), max(1, height // factor))
    shrunk = np.asarray(cv2.resize(lab, small, interpolation=cv2.INTER_AREA), dtype=np.float32)
    found = responses(shrunk, sigma / factor)
    return np.asarray(cv2.resize(found, (width, height), interpolation=cv2.INTER_LINEAR), dtype=np.float32)


def responses(lab: FloatMap, sigma: float) -> FloatMap:
    """Smoothed colors, and gradient and Hessian of the smoothed lightness in units of sigma: [H, W, 6]."""
    smooth = cv2.GaussianBlur(lab, (0, 0), sigma)
    light = np.ascontiguousarray(smooth[..., 0])
    right, down = (cv2.Sobel(light, cv2.CV_32F, *order, scale=1 / 8) for order in ((1, 0), (0, 1)))
    across, along = (cv2.Sobel(light, cv2.CV_32F, *order, scale=1 / 4) for order in ((2, 0), (0, 2)))
    mixed = cv2.Sobel(light, cv2.CV_32F, 1, 1, scale=1 / 4)
    middle, half = (across + along) / 2, cv2.magnitude((across - along) / 2, mixed)
    scale = np.float32(sigma)
    edges, lines = (
        scale * cv2.magnitude(right, down),
        (scale**2 * (middle + half), scale**2 * (middle - half)),
    )
    return np.asarray(cv2.merge([smooth, edges, *lines]), dtype=np.float32)
