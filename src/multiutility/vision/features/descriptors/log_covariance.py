"""Second-order statistics of a region, flattened so that linear models can use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multiutility.vision.features.descriptor import Descriptor, Features, State, describe_once, fit_once
from multiutility.vision.features.descriptors.moments import symmetric
from multiutility.vision.features.picture import Picture

PRIOR_POINTS, PRIOR_VARIANCE = 5.0, 0.1


@dataclass(frozen=True)
class LogCovariance:
    """The matrix logarithm of a region's mean moments, after Carreira et al. (2012).

    ``base`` gives sums of products, as `Moments` do. The manifold of such matrices becomes flat in their
    logarithm. A few points of a prior keep regions with few points of their own apart from noise. Values are
    raised to the power 0.75, sign kept.
    """

    base: Descriptor

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Fit the base."""
        return fit_once(self.base, pictures, rng)

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, D], with D as the base."""
        return log_map(describe_once(self.base, picture, state))


def log_map(moments: Features) -> Features:
    """Logarithms of mean moments, as upper triangles of the same length: [V, D] to [V, D]."""
    # Regions of one group have the same sums: one logarithm is enough.
    unique, inverse = np.unique(moments, axis=0, return_inverse=True)
    sums = symmetric(unique)
    points, size = sums[:, :1, :1], sums.shape[1]
    means = (sums + PRIOR_POINTS * PRIOR_VARIANCE * np.eye(size)) / (points + PRIOR_POINTS)
    values, vectors = np.linalg.eigh(means + 1e-3 * np.eye(size))
    logarithms = (vectors * np.log(np.maximum(values, 1e-6))[:, np.newaxis]) @ vectors.swapaxes(1, 2)
    first, second = np.triu_indices(size)
    # Off the diagonal each value stands for two, so that inner products are those of the matrices.
    flat = logarithms[:, first, second] * np.where(first == second, 1.0, np.sqrt(2.0))
    powered = np.sign(flat) * np.abs(flat) ** 0.75
    return np.asarray(powered[inverse.reshape(-1)], dtype=np.float32)
