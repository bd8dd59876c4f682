"""Visual words: one of a vocabulary for every pixel, and their counts in regions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.picture import Picture

WordMap: TypeAlias = NDArray[np.int32]

# For k-means; more change little, and a vocabulary of 512 words takes a few seconds.
MAX_SAMPLES, N_ROUNDS = 50_000, 15


class Words(Protocol):
    """A descriptor that counts the words of a vocabulary; frozen and hashable as all descriptors."""

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Learn the vocabulary."""

    def find(self, picture: Picture, state: State) -> WordMap:
        """Words of every pixel, one for each of L layers: int32 [L, H, W] with values in 0..n_words-1."""

    def describe(self, picture: Picture, state: State) -> Features:
        """Count the words of every region: float32 [V, n_words]."""


def find_once(words: Words, picture: Picture, state: State) -> WordMap:
    """Find the words of a picture; descriptors that use the same words share the work."""
    return picture.once(("find", words), lambda: words.find(picture, state))


def count_words(words: Words, picture: Picture, state: State) -> Features:
    """Count words in regions: float32 [V, n_words]; a region's counts sum to its size for each layer."""
    owner, pixels = picture.regions.ravel(), np.arange(picture.regions.size)
    return count_at(words, picture, state, owner, pixels)


def count_at(
    words: Words, picture: Picture, state: State, owner: NDArray[Any], pixels: NDArray[Any]
) -> Features:
    """Count the words at flat pixels [P], each for the region that owns it, [P]: float32 [V, n_words]."""
    shape = picture.n_regions, words.n_words
    layers = find_once(words, picture, state).reshape(-1, picture.regions.size)
    keys = owner.astype(np.int64) * words.n_words + layers[:, pixels]
    return np.bincount(keys.ravel(), minlength=shape[0] * shape[1]).reshape(shape).astype(np.float32)


def learn_centers(samples: Iterable[NDArray[Any]], n_words: int, rng: np.random.Generator) -> Features:
    """Centers [n_words, D] by k-means on samples, each [n, D]; fewer if there are fewer different ones."""
    data = np.concatenate([np.asarray(one, dtype=np.float32) for one in samples])
    data = data[rng.permutation(len(data))[:MAX_SAMPLES]]
    centers = np.unique(data[: 4 * n_words], axis=0)
    if len(centers) < n_words:
        centers = np.unique(data, axis=0)
    if len(centers) <= n_words:
        return centers
    centers = centers[rng.permutation(len(centers))[:n_words]]
    for _ in range(N_ROUNDS):
        centers = moved(centers, data, rng)
    return centers


def moved(centers: Features, data: Features, rng: np.random.Generator) -> Features:
    """Move each center to the mean of the samples that it is nearest to, or to any sample if it has none."""
    owner = nearest_centers(data, centers)
    ones, starts = np.ones(len(data), dtype=np.float32), np.arange(len(data) + 1)
    belongs = csr_array((ones, owner, starts), shape=(len(data), len(centers)))
    counts = np.bincount(owner, minlength=len(centers))
    means = (belongs.T @ data) / np.maximum(counts, 1)[:, np.newaxis]
    empty = np.flatnonzero(counts == 0)
    means[empty] = data[rng.integers(len(data), size=len(empty))]
    return np.asarray(means, dtype=np.float32)


def nearest_centers(samples: Features, centers: Features) -> WordMap:
    """Index of the nearest center for each sample, [n, D] and [n_words, D] to [n]; ties go to the first.

    The squared distance is expanded, so that nearly all work is one matrix product; blocks bound the memory.

    >>> nearest_centers(np.array([[0.0], [9.0]], np.float32), np.array([[8.0], [1.0]], np.float32))
    array([1, 0], dtype=int32)
    """
    half = (centers * centers).sum(axis=1) / 2
    found = np.empty(len(samples), dtype=np.int32)
    for start in range(0, len(samples), 8192):
        block = slice(start, start + 8192)
        found[block] = (samples[block] @ centers.T - half).argmax(axis=1)
    return found
