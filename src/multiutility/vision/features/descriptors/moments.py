"""Sums, over the pixels of a region, of products of what is seen at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from multiutility.arrays import IndexArray
from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.descriptors.grid import grid_axes
from multiutility.vision.features.descriptors.sift_words import dense_sift
from multiutility.vision.features.descriptors.texton_words import filter_bank
from multiutility.vision.features.picture import Picture

BLOCK = 4096  # points at once, to bound the memory


@dataclass(frozen=True)
class Moments:
    """Sums of products of local features, of all pairs of them: the upper triangle of sum x xᵀ.

    x is 1, then SIFT of several channels and sizes, whitened and cut to the first principal axes, then color
    and texture (17 filters without the smoother colors), scaled; at points every ``step`` pixels. ``sift``
    holds for each kind its channel of CIE Lab (0 to 2), its cells' size in pixels and its number of axes.
    The first value is therefore the number of points. Sums of regions are the moments of their union.
    """

    sift: tuple[tuple[int, int, int], ...] = ((0, 4, 20), (0, 8, 10), (1, 4, 6), (2, 4, 6))
    step: int = 4
    fit_samples: int = 500  # of each picture

    @property
    def n_local(self) -> int:
        """Number of local features, the one included."""
        return 1 + sum(axes for _, _, axes in self.sift) + 11

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Find the principal axes of SIFT, and the scales of all."""
        samples: list[list[Features]] = []
        for picture in pictures:
            found = self.seen(picture)
            chosen = rng.permutation(len(found[0]))[: self.fit_samples]
            samples.append([part[chosen] for part in found])
        *sifts, filters = (np.concatenate(part) for part in zip(*samples, strict=True))
        state = {"filter_mean": filters.mean(axis=0), "filter_scale": np.maximum(filters.std(axis=0), 1e-6)}
        for kind, (values, (_, _, axes)) in enumerate(zip(sifts, self.sift, strict=True)):
            state[f"sift{kind}_mean"] = values.mean(axis=0)
            state[f"sift{kind}_axes"] = whitening_axes(values, axes)
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
        for kind, values in enumerate(sifts):
            # Slightly less weight than color: the many axes of SIFT would drown it.
            axes = state[f"sift{kind}_axes"] * np.float32(0.7)
            parts.append((values - state[f"sift{kind}_mean"]) @ axes)
        scaled = (filters - state["filter_mean"]) / state["filter_scale"]
        scaled[:, 3:] *= np.float32(0.7)
        parts.append(scaled.astype(np.float32, copy=False))
        return np.concatenate(parts, axis=1).astype(np.float32, copy=False)

    def seen(self, picture: Picture) -> list[Features]:
        """SIFT [n, 128] of each kind, and responses of filters [n, 11], at all points."""
        sifts = [
            dense_sift(channel_bytes(picture, channel), self.step, cell).reshape(-1, 128)
            for channel, cell, _ in self.sift
        ]
        bank = filter_bank(picture.lab)[np.ix_(*grid_axes(picture.shape, self.step))]
        return [*sifts, np.concatenate((bank[..., :3], bank[..., 9:]), axis=2).reshape(-1, 11)]


def channel_bytes(picture: Picture, channel: int) -> NDArray[np.uint8]:
    """A channel of CIE Lab, stretched to 0..255: uint8 [H, W]; for lightness, the gray image."""
    if channel == 0:
        return picture.gray
    # Few colors of photographs are beyond 64 from gray.
    return np.clip(2 * picture.lab[..., channel] + 128, 0, 255).astype(np.uint8)


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
