"""Cutting an object out of a photograph by a minimum cut, from a box around it or from a click on it.

As GrabCut does it (Rother, Kolmogorov and Blake, 2004), with histograms of a palette in place of mixtures:
colors of the object and of the rest are learned and the cut is made in turn. The cut prefers to run where
neighboring pixels differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from multiutility.arrays import BoolArray, FloatArray, IndexArray
from multiutility.inference import min_cut
from multiutility.vision.regions.superpixels import RegionMerging

# Cost of a cut between alike neighbors, in units of log-likelihood of one pixel. This and how colors share
# are rough choices, by 25 objects each of three sets of photographs; for facades 2 was better than 5.
SMOOTHNESS = 3.0
# Colors of the palette, and rounds of learning colors and cutting; it usually settles earlier.
N_COLORS, N_ROUNDS = 64, 5
# How far colors share what was seen of them, as a part of how much neighbors differ.
SHARING = 0.1
# Regions of an image, of which one is the first guess of what was clicked on.
N_REGIONS = 40
# More than what all neighbors and colors of a pixel can say together.
CERTAIN = 1e4
# Neighbors differ at least so much, squared: photographs have noise, drawn pictures need not.
LEAST_CONTRAST = 9.0


@dataclass(frozen=True, eq=False)
class Hints:
    """What is known of an object, bool [H, W]: where it must be and may be, and the first guess."""

    must: BoolArray
    may: BoolArray
    first: BoolArray

    @classmethod
    def of_box(cls, size: tuple[int, int], box: tuple[int, int, int, int]) -> Hints:
        """The object is inside of a box (left, top, right, bottom)."""
        left, top, right, bottom = box
        inside = np.zeros(size, dtype=bool)
        inside[top:bottom, left:right] = True
        first = inside.copy()
        if inside.all():
            # Nothing is known to be something else: the rim is likely to be.
            first[:] = False
            height, width = size
            rim = max(1, min(height, width) // 10)
            first[rim : height - rim, rim : width - rim] = True
        return cls(np.zeros_like(inside), inside, first)

    @classmethod
    def of_click(cls, image: NDArray[np.uint8], row: int, column: int) -> Hints:
        """The object is at a pixel of an image [H, W, 3], and is likely to have the colors of its region."""
        size = image.shape[:2]
        regions = RegionMerging(N_REGIONS)(image)
        must = np.zeros(size, dtype=bool)
        must[row, column] = True
        return cls(must, np.ones(size, dtype=bool), regions == regions[row, column])


def cut_out(image: NDArray[np.uint8], hints: Hints) -> BoolArray:
    """Return the pixels of an object in an image [H, W, 3]; what is apart from a click is left out."""
    colors, likeness = palette(image)
    edges, differences, distances = neighbors(image)
    contrast = max(float(np.mean(differences)), LEAST_CONTRAST)
    capacities = SMOOTHNESS * np.exp(-differences / (2 * contrast)) / distances
    kernel = np.exp(-likeness / (2 * SHARING * contrast))
    now = hints.first
    for _ in range(N_ROUNDS):
        costs = np.stack(
            [color_costs(colors, now, kernel), color_costs(colors, ~now | ~hints.may, kernel)], axis=1
        )
        costs[~hints.may.ravel(), 0] += CERTAIN
        costs[hints.must.ravel(), 1] += CERTAIN
        _, found = min_cut(costs, edges, np.stack([capacities, capacities], axis=1))
        before, now = now, connected(found.reshape(now.shape), hints.must)
        if not now.any() or np.array_equal(now, before):
            break
    return now


def palette(image: NDArray[np.uint8]) -> tuple[IndexArray, FloatArray]:
    """Return the color of each pixel by its number in a palette [V], and squared distances of these."""
    reduced = Image.fromarray(image).quantize(N_COLORS)
    numbers = np.asarray(reduced, dtype=np.int32).ravel()
    flat = image.reshape(-1, 3)
    counts = np.bincount(numbers, minlength=N_COLORS)
    sums = np.stack([np.bincount(numbers, flat[:, n], N_COLORS) for n in range(3)], axis=1)
    means = sums / np.maximum(counts, 1)[:, None]
    return numbers, ((means[:, None] - means[None]) ** 2).sum(axis=2)


def color_costs(colors: IndexArray, pixels: BoolArray, kernel: FloatArray) -> FloatArray:
    """Minus the log-likelihood of the color of each pixel among those of some pixels; alike colors share."""
    counts = np.bincount(colors[pixels.ravel()], minlength=len(kernel)) + 1 / len(kernel)
    shared = kernel @ (counts / kernel.sum(axis=0))
    costs: FloatArray = -np.log(shared / shared.sum())
    return costs[colors]


def neighbors(image: NDArray[np.uint8]) -> tuple[IndexArray, FloatArray, FloatArray]:
    """Return pairs of neighboring pixels [E, 2], how much their colors differ (squared), and how far."""
    height, width = image.shape[:2]
    numbers = np.arange(height * width, dtype=np.int32).reshape(height, width)
    pairs = [
        (numbers[:, :-1], numbers[:, 1:], 1.0),
        (numbers[:-1], numbers[1:], 1.0),
        (numbers[:-1, :-1], numbers[1:, 1:], np.sqrt(2)),
        (numbers[1:, :-1], numbers[:-1, 1:], np.sqrt(2)),
    ]
    edges = np.concatenate([np.stack([one.ravel(), other.ravel()], axis=1) for one, other, _ in pairs])
    flat = image.reshape(-1, 3).astype(np.float64)
    differences = ((flat[edges[:, 0]] - flat[edges[:, 1]]) ** 2).sum(axis=1)
    return edges, differences, np.repeat([away for *_, away in pairs], [one.size for one, *_ in pairs])


def connected(pixels: BoolArray, must: BoolArray) -> BoolArray:
    """Return the pixels that hang together with those that must be; all of them if none must."""
    if not must.any():
        return pixels
    _, parts = cv2.connectedComponents(pixels.astype(np.uint8), connectivity=8)
    return pixels & np.isin(parts, parts[must])
