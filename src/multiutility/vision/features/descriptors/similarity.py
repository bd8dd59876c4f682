"""Similarities of neighbors by what describes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import IndexArray
from multiutility.vision.features.descriptor import (
    Descriptor,
    Features,
    State,
    describe_once,
    fit_once,
    nested,
    part_state,
)
from multiutility.vision.features.picture import Picture


@dataclass(frozen=True)
class Similarity:
    """``exp(-d / mean d)`` for several distances d between neighbors, with the mean over training pictures.

    Distances are chi-square for ``histograms`` (counts, normalized here), Euclidean for ``vectors``, and last
    the strength of the boundary between both.
    """

    histograms: tuple[Descriptor, ...]
    vectors: tuple[Descriptor, ...] = ()

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Fit all parts, and find the mean of each distance."""
        state = nested([fit_once(part, pictures, rng) for part in (*self.histograms, *self.vectors)])
        # Pictures of their own, so that what is found on them is not kept for all of them.
        found = [self.distances(Picture(one.image, one.regions), state) for one in pictures]
        total, number = sum(one.sum(axis=0) for one in found), sum(map(len, found))
        means = total / max(number, 1)
        return {**state, "means": np.where(means > 0, means, 1.0)}

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every edge: float32 [E, histograms + vectors + 1]."""
        return np.exp(-self.distances(picture, state) / state["means"]).astype(np.float32)

    def distances(self, picture: Picture, state: State) -> NDArray[np.float64]:
        """All distances between neighbors, [E, histograms + vectors + 1]."""
        columns = [picture.strength]
        for p, part in enumerate((*self.histograms, *self.vectors)):
            found = describe_once(part, picture, part_state(state, p))
            measure = chi_square_distance if p < len(self.histograms) else euclidean_distance
            columns.append(measure(found, picture.edges))
        return np.stack((*columns[1:], columns[0]), axis=1)


def chi_square_distance(counts: Features, edges: IndexArray) -> NDArray[np.float64]:
    """Half the sum of (x - y)² / (x + y) for the histograms of both ends of each edge, in 0..1: [E].

    >>> counts, edges = np.array([[2, 0], [0, 1], [3, 3]], np.float32), np.array([[0, 1], [1, 2]], np.int32)
    >>> chi_square_distance(counts, edges).round(3).tolist()
    [1.0, 0.333]
    """
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), np.float32(1e-9))
    one, other = shares[edges[:, 0]], shares[edges[:, 1]]
    total = one + other
    terms = np.divide((one - other) ** 2, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(terms.sum(axis=1, dtype=np.float64) / 2)


def euclidean_distance(vectors: Features, edges: IndexArray) -> NDArray[np.float64]:
    """Distance between the vectors of both ends of each edge: [E]."""
    return np.asarray(np.linalg.norm(vectors[edges[:, 0]] - vectors[edges[:, 1]], axis=1), dtype=np.float64)
