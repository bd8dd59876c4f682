"""Words of local appearance: dense SIFT, quantized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.descriptors.grid import grid_axes, spread
from multiutility.vision.features.descriptors.words import (
    WordMap,
    count_words,
    learn_centers,
    nearest_centers,
)
from multiutility.vision.features.picture import Picture

N_ANGLES, N_CELLS = 8, 4


@dataclass(frozen=True)
class SiftWords:
    """Counts of SIFT words, for every pixel and size one: that of the nearest point of a grid.

    Descriptors are upright and taken every ``step`` pixels; they have 4 x 4 cells of so many pixels each as
    ``cells`` says, one size after another. All sizes share one vocabulary.
    """

    n_words: int = 512
    step: int = 4
    cells: tuple[int, ...] = (3, 4, 6, 8)
    fit_samples: int = 1000  # of each picture

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Cluster descriptors of the pictures."""
        samples = []
        for picture in pictures:
            found = np.concatenate([self.sift(picture, cell) for cell in self.cells])
            samples.append(found[rng.permutation(len(found))[: self.fit_samples]])
        return {"centers": learn_centers(samples, self.n_words, rng)}

    def find(self, picture: Picture, state: State) -> WordMap:
        """Words of every pixel, one layer for each size."""
        rows, columns = grid_axes(picture.shape, self.step)
        words = [nearest_centers(self.sift(picture, cell), state["centers"]) for cell in self.cells]
        return spread(np.reshape(words, (-1, len(rows), len(columns))), self.step, picture.shape)

    def describe(self, picture: Picture, state: State) -> Features:
        """Count the words of every region."""
        return count_words(self, picture, state)

    def sift(self, picture: Picture, cell: int) -> Features:
        """Descriptors of one size at all points, [n, 128]."""
        found = dense_sift(picture.gray, self.step, cell)
        return found.reshape(-1, found.shape[2])


def dense_sift(gray: NDArray[np.uint8], step: int, cell: int) -> Features:
    """SIFT descriptors [h, w, 128] of an image [H, W] at the centers of squares of ``step`` pixels.

    Gradients are shared linearly between the two nearest of 8 angles, and between cells by triangular
    windows (Lowe 2004, without the Gaussian window over the whole).
    """
    pad = 2 * cell + step
    maps = angle_maps(np.pad(gray, pad, mode="edge"), cell)
    rows, columns = (axis + pad for axis in grid_axes((gray.shape[0], gray.shape[1]), step))
    offsets = ((np.arange(N_CELLS) - (N_CELLS - 1) / 2) * cell).round().astype(int)
    y, x = rows[:, np.newaxis] + offsets, columns[:, np.newaxis] + offsets
    cells = maps[y[:, np.newaxis, :, np.newaxis], x[np.newaxis, :, np.newaxis, :]]
    return normalized_sift(cells.reshape(len(rows), len(columns), -1))


def angle_maps(image: NDArray[np.uint8], cell: int) -> Features:
    """Gradient energy of each of 8 angles, summed by triangular windows of 2 x ``cell`` pixels: [H, W, 8]."""
    smooth = cv2.GaussianBlur(image.astype(np.float32) / 255, (0, 0), max(0.5, cell / 6))
    across = cv2.Sobel(smooth, cv2.CV_32F, 1, 0, ksize=1)
    down = cv2.Sobel(smooth, cv2.CV_32F, 0, 1, ksize=1)
    size, angle = cv2.cartToPolar(across, down)
    turn = angle * np.float32(N_ANGLES / (2 * np.pi))
    lower = np.floor(turn)
    part = turn - lower
    maps = np.zeros((*image.shape, N_ANGLES), dtype=np.float32)
    first = lower.astype(np.intp) % N_ANGLES
    y, x = np.ogrid[: image.shape[0], : image.shape[1]]
    maps[y, x, first] = size * (1 - part)
    maps[y, x, (first + 1) % N_ANGLES] += size * part
    window = 1 - np.abs(np.arange(-cell + 1, cell, dtype=np.float32)) / cell
    return np.asarray(cv2.sepFilter2D(maps, cv2.CV_32F, window, window), dtype=np.float32)


def normalized_sift(found: Features) -> Features:
    """Unit length, no value above 0.2, unit length again; weak gradients stay near zero."""
    for limit in (0.2, np.inf):
        length = np.sqrt(np.einsum("hwd,hwd->hw", found, found))[..., np.newaxis]
        # Flat places would turn into noise of unit length: below this length they fade to zero.
        found = np.minimum(found / np.maximum(length, 0.05), np.float32(limit))
    return found
