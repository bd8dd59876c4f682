"""Stand-in for the learner: its losses and class weights, on principal features, without edges.

Its hinges take the likeliest label of a node for true, where a logistic regression divides the node. So class
weights and weak annotations do to it what they will do to the learner, and it is fitted nearly as fast.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from multiutility.annotations.expected import DECIDED, tilted_shares
from multiutility.arrays import FloatArray
from multiutility.learning.optimizers.planes import Scores, lift
from multiutility.learning.selection.regression import Targets, ridges_of
from multiutility.learning.starts.logarithms import highest

# Hinges are rounded off by as much, in units of the loss of a node, so that they have a slope everywhere.
ROUNDED = 0.1


def fit_hinges(
    parts: Sequence[Targets],
    ridge: float,
    balance: float,
    start: FloatArray | None = None,
    n_steps: int = 60,
) -> FloatArray:
    """Weights [K, d + 1] of least hinges, for nodes that count by ``Targets.counts``.

    ``min mean_i omega_i max_k (loss_ik + w_k z_i - w_{y_i} z_i) + ridge / 2 |W|^2`` with the likeliest labels
    y, and losses and weights of nodes as in ``Expected``; ``balance`` is the power of class weights.
    """
    features = np.concatenate([part.features for part in parts])
    losses, weights = expected_losses(np.concatenate([part.counts for part in parts]), balance)
    best, rows = losses.argmin(axis=1), np.arange(len(losses))
    # Single precision, as features have it, does for a stand-in, and takes less time.
    margins = (losses - losses[rows, best][:, np.newaxis]).astype(np.float32)
    shares = (ROUNDED * weights).astype(np.float32)
    shape = losses.shape[1], features.shape[1]
    ridges, gradient = ridges_of(shape, ridge), np.empty(shape, np.float32)

    def value(flat: FloatArray) -> tuple[float, FloatArray]:
        violations = Scores(flat.reshape(shape).astype(np.float32))(features)
        violations += margins - violations[rows, best][:, np.newaxis]
        violations /= ROUNDED
        peaks = highest(violations)
        violations -= peaks[:, np.newaxis]
        slopes = np.exp(violations, out=violations)
        sums = slopes.sum(axis=1)
        hinges = float(shares @ (peaks + np.log(sums)))
        slopes *= (shares / ROUNDED / sums)[:, np.newaxis]
        slopes[rows, best] -= shares / ROUNDED
        lift(slopes, features, gradient)
        penalty = (ridges * flat.reshape(shape)).ravel()
        return float(penalty @ flat) / 2 + hinges, penalty + gradient.ravel().astype(np.float64)

    first = np.zeros(shape) if start is None else start
    found = minimize(value, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": n_steps})
    return np.asarray(found.x).reshape(shape)


def expected_losses(counts: FloatArray, balance: float) -> tuple[FloatArray, FloatArray]:
    """Losses [V, K] of the labels of nodes, and weights [V] of these nodes, which add up to 1.

    >>> losses, weights = expected_losses(np.array([[3.0, 1.0], [2.0, 0.0], [0.0, 2.0]]), 0.0)
    >>> losses.tolist(), weights.tolist()
    ([[0.25, 0.75], [0.0, 1.0], [1.0, 0.0]], [0.5, 0.25, 0.25])
    """
    sizes, sums = counts.sum(axis=0), counts.sum(axis=1)
    omega = np.divide(1, sizes**balance, out=np.zeros_like(sizes), where=sizes > 0)
    shares = np.divide(counts, sums[:, np.newaxis], out=np.zeros_like(counts), where=sums[:, np.newaxis] > 0)
    tilted = tilted_shares(shares, omega)
    weights = sums * (tilted @ omega) * (tilted.max(axis=1) >= DECIDED)
    total = weights.sum()
    return 1.0 - tilted, weights / total if total > 0 else weights
