"""Logistic regression of nodes on a few principal features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from multiutility.annotations.expected import tilted_shares
from multiutility.arrays import FloatArray
from multiutility.learning.optimizers.planes import Scores, lift
from multiutility.learning.starts.locality import inverse_norms
from multiutility.learning.starts.logarithms import log_softmax
from multiutility.problem import LabelingProblem

# Principal features that are kept, and nodes that they are computed from: more of either changes nothing.
N_AXES, N_SAMPLED = 128, 8192
# Ridge of the constant, in relation to that of the other features: how frequent labels are is no matter of
# taste.
FREE = 1e-3


@dataclass(frozen=True, eq=False)
class Space:
    """Principal features of nodes: scaled to norm 1, centered, on their principal axes; and a constant."""

    mean: NDArray[Any]
    axes: NDArray[Any]

    @classmethod
    def of(cls, problems: Sequence[LabelingProblem]) -> Self:
        """Find the principal axes of nodes that are evenly taken from all problems."""
        share = min(1.0, N_SAMPLED / max(1, sum(one.n_nodes for one in problems)))
        rows = np.concatenate([some_rows(one, share) for one in problems])
        mean = rows.mean(axis=0)
        centered = rows - mean
        variances, axes = np.linalg.eigh(centered.T @ centered / len(centered))
        kept = np.flatnonzero(variances > 1e-9 * max(float(variances[-1]), 0.0))[-N_AXES:]
        spread = float(np.sqrt(variances[kept].sum())) if len(kept) else 1.0
        return cls(mean, np.asarray(axes[:, kept] / spread, dtype=rows.dtype))

    def __call__(self, problem: LabelingProblem) -> NDArray[np.float32]:
        """Principal features [V, d + 1] of the nodes, of which the last is a constant."""
        principal = (unit_rows(problem) - self.mean) @ self.axes
        return np.column_stack((principal, np.ones(len(principal)))).astype(np.float32)


def unit_rows(problem: LabelingProblem) -> NDArray[Any]:
    """Features of the nodes, scaled to norm 1: what sizes of nodes have done to them does not count."""
    features = problem.node_features
    return np.asarray(features * inverse_norms(features).astype(features.dtype))


def some_rows(problem: LabelingProblem, share: float) -> NDArray[Any]:
    """A share of the rows, evenly taken, at least one."""
    count = min(problem.n_nodes, max(1, round(share * problem.n_nodes)))
    rows = np.linspace(0, problem.n_nodes - 1, count).round().astype(int)
    return np.asarray(unit_rows(problem)[rows])


class Targets(NamedTuple):
    """Principal features of some nodes [V, d + 1], and by how much they count for each label [V, K]."""

    features: NDArray[np.float32]
    counts: FloatArray

    def times(self, weight: float) -> Targets:
        """Return the same nodes, which count by a weight."""
        return Targets(self.features, weight * self.counts)


def fit_logistic(
    parts: Sequence[Targets],
    ridge: float,
    balance: float = 0.0,
    start: FloatArray | None = None,
    n_steps: int = 60,
) -> FloatArray:
    """Weights [K, d + 1] of the logistic regression of labels on principal features.

    ``min -mean_i sum_k t_ik log p_k(z_i) + ridge / 2 |W|^2``, with nodes that count by ``t``, divided by the
    power ``balance`` of the size of their label.
    """
    features = np.concatenate([part.features for part in parts])
    counts = balanced(np.concatenate([part.counts for part in parts]), balance).astype(np.float32)
    sums = counts.sum(axis=1, keepdims=True)
    shape = counts.shape[1], features.shape[1]
    ridges = ridges_of(shape, ridge)

    gradient = np.empty(shape, np.float32)

    def value(flat: FloatArray) -> tuple[float, FloatArray]:
        weights = flat.reshape(shape)
        logs = log_softmax(Scores(weights.astype(np.float32))(features))
        loss = float((ridges * weights**2).sum()) / 2 - float(np.vdot(counts, logs))
        lift(np.exp(logs) * sums - counts, features, gradient)
        return loss, (ridges * weights + gradient).ravel().astype(np.float64)

    first = np.zeros(shape) if start is None else start
    found = minimize(value, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": n_steps})
    return np.asarray(found.x).reshape(shape)


def ridges_of(shape: tuple[int, int], ridge: float) -> FloatArray:
    """Ridges of weights [K, d + 1], of which the last are those of the constant."""
    ridges = np.full(shape, ridge)
    ridges[:, -1] *= FREE
    return ridges


def balanced(counts: FloatArray, power: float) -> FloatArray:
    """Counts [V, K] with class weights, a power of the inverse sizes of labels; they add up to 1.

    As in ``Expected``: nodes count by the weight of their labels, and rare labels are likelier.

    >>> balanced(np.array([[3.0, 0.0], [0.0, 1.0]]), 1.0)
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    sizes, sums = counts.sum(axis=0), counts.sum(axis=1, keepdims=True)
    inverse = np.divide(1, sizes**power, out=np.zeros_like(sizes), where=sizes > 0)
    shares = np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0)
    tilted = tilted_shares(shares, inverse)
    scaled = sums * (tilted @ inverse)[:, np.newaxis] * tilted
    total = scaled.sum()
    return np.asarray(scaled / total if total > 0 else scaled)


def probabilities(features: NDArray[np.float32], weights: FloatArray) -> FloatArray:
    """Probabilities [V, K] of labels by a logistic regression."""
    return np.asarray(softmax((features @ weights.T.astype(np.float32)).astype(np.float64), axis=1))
