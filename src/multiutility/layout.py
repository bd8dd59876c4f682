"""Where the weights of a model stand in one flat vector: the one place that knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from multiutility.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Layout:
    """Flat weights ``[w_0, ..., w_{K-1}, w_p]`` of length ``K D + e``.

    ``n_labels`` rows of ``n_features`` weights of node features, then ``n_pairwise`` weights of edge
    features, which must not be negative. ``unary``, ``rows`` and ``pairwise`` are views: what is written to
    them is written to the weights.

    >>> layout = Layout(n_labels=2, n_features=2, n_pairwise=1)
    >>> weights = np.array([1.0, 2.0, 3.0, 4.0, -5.0])
    >>> layout.rows(weights)
    array([[1., 2.],
           [3., 4.]])
    >>> layout.projected(weights)
    array([1., 2., 3., 4., 0.])
    """

    n_labels: int
    n_features: int
    n_pairwise: int

    @property
    def n_unary(self) -> int:
        """Number of weights that may have any sign, K D."""
        return self.n_labels * self.n_features

    @property
    def n_weights(self) -> int:
        """Number of weights, K D + e."""
        return self.n_unary + self.n_pairwise

    @property
    def nonnegative(self) -> slice:
        """The weights that must stay >= 0: the pairwise ones."""
        return slice(self.n_unary, self.n_weights)

    def unary(self, weights: FloatArray) -> FloatArray:
        """Weights of node features, flat: [K D]; of many vectors [..., K D + e], [..., K D]."""
        return weights[..., : self.n_unary]

    def rows(self, weights: FloatArray) -> FloatArray:
        """Weights of node features by label, [K, D]."""
        return self.unary(weights).reshape(self.n_labels, self.n_features)

    def pairwise(self, weights: FloatArray) -> FloatArray:
        """Weights of edge features, [e]; of many vectors [..., K D + e], [..., e]."""
        return weights[..., self.n_unary :]

    def join(self, unary: ArrayLike, pairwise: ArrayLike) -> FloatArray:
        """Return flat weights of rows [K, D] (or flat ones) and pairwise weights [e]."""
        return np.concatenate((np.ravel(unary), np.ravel(pairwise))).astype(np.float64, copy=False)

    def local(self, rows: ArrayLike) -> FloatArray:
        """Return flat weights of rows [K, D] whose pairwise part is zero: nodes are labeled on their own."""
        return self.join(rows, np.zeros(self.n_pairwise))

    def among(self, weights: FloatArray, other: Layout) -> FloatArray:
        """Return the weights in a layout of more labels; those of labels that are new are zero.

        >>> Layout(1, 2, 1).among(np.array([1.0, 2.0, 3.0]), Layout(2, 2, 1))
        array([1., 2., 0., 0., 3.])
        """
        missing = np.zeros((other.n_labels - self.n_labels) * self.n_features)
        return np.concatenate((self.unary(weights), missing, self.pairwise(weights)))

    def projected(self, weights: FloatArray) -> FloatArray:
        """Return the nearest weights whose pairwise part is not negative."""
        nearest = weights.copy()
        pairwise = self.pairwise(nearest)
        np.maximum(pairwise, 0, out=pairwise)
        return nearest
