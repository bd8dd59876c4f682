"""Sums, over the pixels of a region, of products of what is seen at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from multiutility.arrays import IndexArray
from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.grid import grid_axes
from multiutility.vision.features.picture import Picture
from multiutility.vision.features.sift_words import dense_sift
from multiutility.vision.features.texton_words import filter_bank

BLOCK = 4096  # points at once, to bound the memory


@dataclass(frozen=True)
class Moments:
    """Sums of products of local features, of all pairs of them: the upper triangle of sum x xᵀ.

    x is 1, then SIFT of each cell size in ``cells``, whitened and cut to the first ``axes`` principal axes,
    then color and texture (17 filters without the smoother colors), scaled; at points every ``step`` pixels.
    The first value is therefore the number of points. Sums of regions are the moments of their union.
    """

    cells: tuple[int, ...] = (4, 8)
    axes: tuple[int, ...] = (24, 12)
    step: int = 4
    fit_samples: int = 500  # of each picture

    @property
    def n_local(self) -> int:
        """Number of local features, the one included."""
        return 1 + sum(self.axes) + 11

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Find the principal axes of SIFT, and the scales of all."""
        samples: list[list[Features]] = []
        for picture in pictures:
            found = self.seen(picture)
            chosen = rng.permutation(len(found[0]))[: self.fit_samples]
            samples.append([part[chosen] for part in found])
        *sifts, filters = (np.concatenate(part) for part in zip(*samples, strict=True))
        state = {"filter_mean": filters.mean(axis=0), "filter_scale": np.maximum(filters.std(axis=0), 1e-6)}
        for cell, number, sift in zip(self.cells, self.axes, sifts, strict=True):
            state[f"sift{cell}_mean"] = sift.mean(axis=0)
            state[f"sift{cell}_axes"] = whitening_axes(sift, number)
        return state

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, n_local (n_local + 1) / 2]."""
        local = self.local(picture, state)
        owner = picture.regions[np.ix_(*grid_axes(picture.shape, self.step))].ravel()
        first, second = np.triu_indices(local.shape[1])
        sums = np.zeros((picture.n_regions, len(first)), dtype=np.float32)
        for start in range(0, len(local), BLOCK):
            block = slice(start, start + BLOCK)
            products = local[block, first] * local[block, second]
            sums += gathering(owner[block], picture.n_regions) @ products
        return sums

    def local(self, picture: Picture, state: State) -> Features:
        """Local features x of all points, [n, n_local]."""
        *sifts, filters = self.seen(picture)
        parts = [np.ones((len(filters), 1), dtype=np.float32)]
        for cell, sift in zip(self.cells, sifts, strict=True):
            # Slightly less weight than color: the many axes of SIFT would drown it.
            parts.append((sift - state[f"sift{cell}_mean"]) @ state[f"sift{cell}_axes"] * np.float32(0.7))
        scaled = (filters - state["filter_mean"]) / state["filter_scale"]
        scaled[:, 3:] *= np.float32(0.7)
        parts.append(scaled.astype(np.float32, copy=False))
        return np.concatenate(parts, axis=1).astype(np.float32, copy=False)

    def seen(self, picture: Picture) -> list[Features]:
        """SIFT [n, 128] for each cell size, and responses of filters [n, 11], at all points."""
        sifts = [dense_sift(picture.gray, self.step, cell).reshape(-1, 128) for cell in self.cells]
        bank = filter_bank(picture.lab)[np.ix_(*grid_axes(picture.shape, self.step))]
        return [*sifts, np.concatenate((bank[..., :3], bank[..., 9:]), axis=2).reshape(-1, 11)]


def whitening_axes(samples: Features, number: int) -> Features:
    """Principal axes [D, number] of samples [n, D], over their standard deviations."""
    variances, axes = np.linalg.eigh(np.cov(samples, rowvar=False))
    best = np.argsort(variances)[::-1][:number]
    # The sign of an axis is arbitrary: make its largest entry positive, for the same result everywhere.
    signs = np.sign(axes[np.abs(axes[:, best]).argmax(axis=0), best])
    whitened = axes[:, best] * signs / np.sqrt(np.maximum(variances[best], 1e-8))
    return np.asarray(whitened, dtype=np.float32)


def gathering(owner: IndexArray, n_regions: int) -> csr_array:
    """Matrix [V, n] that sums the points of each region."""
    ones = np.ones(len(owner), dtype=np.float32)
    return csr_array((ones, (owner, np.arange(len(owner)))), shape=(n_regions, len(owner)))


def symmetric(triangles: Features) -> NDArray[np.float64]:
    """Symmetric matrices [V, d, d] from their upper triangles [V, d (d + 1) / 2].

    >>> symmetric(np.array([[1.0, 2.0, 3.0]], dtype=np.float32)).tolist()
    [[[1.0, 2.0], [2.0, 3.0]]]
    """
    size = int(np.sqrt(2 * triangles.shape[1]))
    first, second = np.triu_indices(size)
    full = np.zeros((len(triangles), size, size))
    full[:, first, second] = full[:, second, first] = triangles
    return full
